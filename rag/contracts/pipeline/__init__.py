"""the pipeline contract: ingestion jobs, data sources, retrieval. camelCase."""
