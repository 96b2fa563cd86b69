"""The pipeline contract: ingestion jobs, data sources, retrieval, answers. camelCase."""

# The contract's name in the OpenAPI document: its tag and the prefix of its components.
OPENAPI_NAME = "pipeline"
