"""contracts/rag-pipeline.md: ingestion jobs, data sources, retrieval. camelCase."""
