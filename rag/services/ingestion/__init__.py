"""Processes the documents of ingestion jobs in workers, and ingests single documents synchronously."""
