"""The retrieval contract: search, and an answer if the passages are similar enough. snake_case."""

# The contract's name in the OpenAPI document: its tag and the prefix of its components.
OPENAPI_NAME = "retrieval"
