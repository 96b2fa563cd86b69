"""The retrieval contract: search, and an answer if the passages are near enough. snake_case."""

# What the OpenAPI document calls this contract: its tag, and the prefix of its components and operations.
OPENAPI_NAME = "retrieval"
