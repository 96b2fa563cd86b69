"""The pipeline contract: ingestion jobs, data sources, retrieval, answers. camelCase."""

# What the OpenAPI document calls this contract: its tag, and the prefix of its components and operations.
OPENAPI_NAME = "pipeline"
