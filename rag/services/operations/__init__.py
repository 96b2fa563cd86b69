"""Health checks, metrics and demo data."""
