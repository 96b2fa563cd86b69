"""Search and answers: modes, thresholds, grounding, and the vector index."""

from ragsite.settings.env import env

# The retrieval mode of requests that set none: "dense", "lexical" or "hybrid".
RAG_RETRIEVAL_MODE = env.str("RAG_RETRIEVAL_MODE", default="hybrid")

# Scopes up to this size are searched exactly, larger ones with the HNSW index
# (docs/decisions/0022-exact-or-approximate.md).
RAG_EXACT_SEARCH_MAX_CHUNKS = 20_000
# Memory for building that index, at least 1 KB per chunk. Building is several times slower if it does not fit.
RAG_INDEX_BUILD_MEMORY_MB = env.int("RAG_INDEX_BUILD_MEMORY_MB", default=512)

# What judges whether passages can support an answer: "local" (terms and similarity) or "model" (the language model).
RAG_GROUNDING = env.str("RAG_GROUNDING", default="local")

# The retrieval contract's thresholds on the mean cosine of the best passages; an embedding model may have its own.
RAG_CONFIDENCE_HIGH_THRESHOLD = env.float("RAG_CONFIDENCE_HIGH_THRESHOLD", default=0.75)
RAG_CONFIDENCE_MEDIUM_THRESHOLD = env.float("RAG_CONFIDENCE_MEDIUM_THRESHOLD", default=0.60)
