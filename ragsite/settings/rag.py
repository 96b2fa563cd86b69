"""What this product adds: ingestion and retrieval."""

from pathlib import Path

from .env import DATA_DIR, env

# Bodies larger than this are refused (413) before they are read.
RAG_MAX_BODY_BYTES = env.int("RAG_MAX_BODY_BYTES", default=32 * 1024 * 1024)
# Text that is ingested while the client waits; longer documents go through a job.
RAG_MAX_SYNC_TEXT_BYTES = env.int("RAG_MAX_SYNC_TEXT_BYTES", default=256 * 1024)
RAG_MAX_DOCUMENTS_PER_JOB = env.int("RAG_MAX_DOCUMENTS_PER_JOB", default=10_000)

# The contracts' defaults, in OpenAI tokens.
RAG_CHUNK_TOKENS = env.int("RAG_CHUNK_TOKENS", default=512)
RAG_CHUNK_OVERLAP = env.int("RAG_CHUNK_OVERLAP", default=50)

# The embedding model that new data sources get: created on first use from these.
RAG_EMBEDDING_MODEL = env.str("RAG_EMBEDDING_MODEL", default="all-MiniLM-L6-v2")
# Where the local model's graph, built once from its weights, is kept.
RAG_MODEL_CACHE = Path(env.str("RAG_MODEL_CACHE", default=str(DATA_DIR / "models")))
# Threads of one embedding call. Worker processes and request threads already run side by side.
RAG_EMBED_THREADS = env.int("RAG_EMBED_THREADS", default=1)
# A remote embedding call: time for one attempt, and attempts after the first.
EMBEDDING_TIMEOUT = env.float("EMBEDDING_TIMEOUT", default=30.0)
EMBEDDING_MAX_RETRIES = env.int("EMBEDDING_MAX_RETRIES", default=4)

# A worker holds a document for this long unless it says, every third of it, that it is still at work.
RAG_LEASE_SECONDS = env.int("RAG_LEASE_SECONDS", default=20)
RAG_MAX_ATTEMPTS = env.int("RAG_MAX_ATTEMPTS", default=3)
RAG_SWEEP_SECONDS = env.int("RAG_SWEEP_SECONDS", default=10)

# Up to this many chunks in scope are compared exactly; above, the HNSW index is asked (docs/architecture.md).
RAG_EXACT_SEARCH_LIMIT = env.int("RAG_EXACT_SEARCH_LIMIT", default=20_000)

# The password of the demo accounts that `make run` makes, on loopback only.
DEMO_PASSWORD = env.str("DEMO_PASSWORD", default="ragsite-demo")
