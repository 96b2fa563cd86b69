"""The agent contract: a grounded answer by a model with tools, and its health. snake_case."""

# What the OpenAPI document calls this contract: its tag, and the prefix of its components and operations.
OPENAPI_NAME = "agent"
