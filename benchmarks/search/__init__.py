"""Benchmarks of search: over HTTP beside the bare work, and with many data sources."""
