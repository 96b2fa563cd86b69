"""Models of ingestion jobs."""
