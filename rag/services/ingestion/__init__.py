"""What workers do with the documents of ingestion jobs, and synchronous ingestion."""
