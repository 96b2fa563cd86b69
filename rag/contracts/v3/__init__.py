"""The v3 contract: synchronous ingestion of one document, search, chat. camelCase; frozen."""

# The contract's name in the OpenAPI document: its tag and the prefix of its components.
OPENAPI_NAME = "v3"
