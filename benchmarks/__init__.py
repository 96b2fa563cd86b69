"""Benchmarks. `make bench` prints ratios to a baseline of the same run, because machines are noisy."""
