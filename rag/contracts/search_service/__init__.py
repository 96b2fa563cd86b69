"""The search service contract: search, and its results again by the id of the search. snake_case."""

# What the OpenAPI document calls this contract: its tag, and the prefix of its components and operations.
OPENAPI_NAME = "search_service"
