"""The search service contract: search, and its results again by the id of the search. snake_case."""
