"""The gauges of /metrics."""
