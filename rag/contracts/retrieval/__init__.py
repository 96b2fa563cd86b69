"""the retrieval contract: search. snake_case."""
