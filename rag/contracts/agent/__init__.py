"""The agent contract: a grounded answer by a model with tools, and its health. snake_case."""
