"""The v3 contract: one document at once, search, chat. camelCase, frozen."""

# What the OpenAPI document calls this contract: its tag, and the prefix of its components and operations.
OPENAPI_NAME = "v3"
