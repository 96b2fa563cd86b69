"""The search service contract: search, and the stored results of a search by its id. snake_case."""

# The contract's name in the OpenAPI document: its tag and the prefix of its components.
OPENAPI_NAME = "search_service"
