"""The retrieval contract: search, and an answer if the passages are near enough. snake_case."""
