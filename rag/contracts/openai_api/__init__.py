"""OpenAI's API, as far as ragsite provides it: models, chat completions, embeddings. snake_case."""

# The contract's name in the OpenAPI document: its tag and the prefix of its components.
OPENAPI_NAME = "openai_api"
