"""Parses untrusted files in a separate process with resource limits."""
