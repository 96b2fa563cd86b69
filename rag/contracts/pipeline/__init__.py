"""The pipeline contract: ingestion jobs, data sources, retrieval, answers. camelCase."""
