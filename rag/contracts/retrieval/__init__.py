"""The retrieval contract: search and answer."""
