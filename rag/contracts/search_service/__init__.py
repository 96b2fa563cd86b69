"""The search service: search, and what was found by it."""
