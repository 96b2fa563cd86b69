"""Benchmarks of search: one client and many beside the bare work, many data sources, growth, replicas, indexes."""
