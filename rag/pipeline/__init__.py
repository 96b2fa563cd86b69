"""The ingestion pipeline and the query pipeline: one file for each step."""
