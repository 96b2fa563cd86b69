"""Clients that customers use, as they are published, against the real server."""
