"""The agent contract: grounded answers by a language model with tools, and a health check. snake_case."""

# The contract's name in the OpenAPI document: its tag and the prefix of its components.
OPENAPI_NAME = "agent"
