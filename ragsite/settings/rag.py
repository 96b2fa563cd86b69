"""What this product adds: ingestion and retrieval."""

from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from .env import DATA_DIR, env

# Bodies larger than this are refused (413) before they are read.
RAG_MAX_BODY_BYTES = env.int("RAG_MAX_BODY_BYTES", default=32 * 1024 * 1024)
# Text that is ingested while the client waits; longer documents go through a job.
RAG_MAX_DOCUMENTS_PER_JOB = env.int("RAG_MAX_DOCUMENTS_PER_JOB", default=10_000)

# Reading one file: seconds (wall clock, and of CPU), memory beyond an idle reader's, and the most text out of it.
RAG_PARSE_TIMEOUT_SECONDS = env.float("RAG_PARSE_TIMEOUT_SECONDS", default=120.0)
RAG_PARSE_MAX_MEMORY_MB = env.int("RAG_PARSE_MAX_MEMORY_MB", default=1024)

# In OpenAI tokens: what measured best (docs/decisions/0015-chunk-size.md).
RAG_CHUNK_TOKENS = env.int("RAG_CHUNK_TOKENS", default=256)
RAG_CHUNK_OVERLAP_TOKENS = env.int("RAG_CHUNK_OVERLAP_TOKENS", default=64)
# A job that does not say: as the pipeline contract states it, unless the operator has chosen for all.
RAG_JOB_CHUNK_TOKENS = env.int("RAG_CHUNK_TOKENS", default=512)
RAG_JOB_CHUNK_OVERLAP_TOKENS = env.int("RAG_CHUNK_OVERLAP_TOKENS", default=50)

# The embedding model that new data sources get: created on first use from these.
RAG_EMBEDDING_MODEL = env.str("RAG_EMBEDDING_MODEL", default="all-MiniLM-L6-v2")
# Where the local model's graph, built once from its weights, is kept.
RAG_MODEL_CACHE_FOLDER = Path(env.str("RAG_MODEL_CACHE_FOLDER", default=str(DATA_DIR / "models")))
# Threads of one embedding call. Worker processes and request threads already run side by side.
RAG_EMBEDDING_THREADS = env.int("RAG_EMBEDDING_THREADS", default=1)
# Which chunks get the bits of their pieces, from the local model, by which searches are reranked: those of sources that
# this model embeds ("local"), those of remote models as well ("all"), or none ("off").
RAG_TOKEN_SIGNATURES = env.str("RAG_TOKEN_SIGNATURES", default="local")
if RAG_TOKEN_SIGNATURES not in ("local", "all", "off"):
    raise ImproperlyConfigured("RAG_TOKEN_SIGNATURES must be local, all or off.")
# A remote embedding call: time for one attempt, and attempts after the first.
RAG_EMBEDDING_TIMEOUT_SECONDS = env.float("RAG_EMBEDDING_TIMEOUT_SECONDS", default=30.0)
RAG_EMBEDDING_MAX_RETRIES = env.int("RAG_EMBEDDING_MAX_RETRIES", default=2)

# Requests of one web process that may wait for a language model behind HTTP at a time, and as many for embeddings: of
# its 24 threads some are always left for what is quick.
RAG_MAX_MODEL_CALLS = env.int("RAG_MAX_MODEL_CALLS", default=10)
# Hosts, addresses and networks (10.0.0.0/8) in the private ranges that embedding models' endpoints may have. Endpoints
# that are named here, in the environment, need no permission.
RAG_ALLOWED_PRIVATE_HOSTS = env.list("RAG_ALLOWED_PRIVATE_HOSTS", default=[])

# The language model: any OpenAI-compatible endpoint. Without LLM_MODEL answers are quoted sentences.
LLM_MODEL = env.str("LLM_MODEL", default="")
# Names that clients may ask for instead; empty: whatever the endpoint knows.
LLM_MODELS = env.list("LLM_MODELS", default=[])
# The first key that is set, and the endpoint that it belongs to unless LLM_BASE_URL names another.
_endpoints = {
    "LLM_API_KEY": "https://api.openai.com/v1",
    "OPENAI_API_KEY": "https://api.openai.com/v1",
    "OPENROUTER_API_KEY": "https://openrouter.ai/api/v1",
    "LOVABLE_API_KEY": "https://ai.gateway.lovable.dev/v1",
}
_key_name = next((name for name in _endpoints if env.str(name, default="")), "LLM_API_KEY")
LLM_API_KEY = env.str(_key_name, default="")
LLM_BASE_URL = env.str("LLM_BASE_URL", default=_endpoints[_key_name])
# Seconds for a whole model call, attempts after the first included.
LLM_TIMEOUT = env.float("LLM_TIMEOUT", default=60.0)

# Who judges whether passages can carry an answer: "local" (words and nearness) or "model" (the language model).
RAG_GROUNDING = env.str("RAG_GROUNDING", default="local")
# Tokens of a prompt unless a client says otherwise, and the most it may say.
# Turns of a conversation that a model is shown, beside the system prompt.

# A Cohere-compatible rerank endpoint (Cohere, Jina, Voyage, vLLM; TEI with the dialect "tei"), asked for by its model's
# name, and others that clients may name: {"name": {"base_url": …, "key_variable": …, "dialect": …}}.
RAG_RERANK_BASE_URL = env.str("RAG_RERANK_BASE_URL", default="")
RAG_RERANK_API_KEY = env.str("RAG_RERANK_API_KEY", default="")
RAG_RERANK_MODEL = env.str("RAG_RERANK_MODEL", default="")
RAG_RERANK_DIALECT = env.str("RAG_RERANK_DIALECT", default="cohere")
RAG_RERANK_OTHER_MODELS = env.json("RAG_RERANK_OTHER_MODELS", default={})

# The retrieval contract's thresholds on the mean cosine of the best passages; an embedding model may have its own.
RAG_CONFIDENCE_HIGH_THRESHOLD = env.float("RAG_CONFIDENCE_HIGH_THRESHOLD", default=0.75)
RAG_CONFIDENCE_MEDIUM_THRESHOLD = env.float("RAG_CONFIDENCE_MEDIUM_THRESHOLD", default=0.60)

# A worker holds a document for this long unless it says, every third of it, that it is still at work.
RAG_LEASE_SECONDS = env.int("RAG_LEASE_SECONDS", default=20)
# Times that a document may lose its worker, and that an embedding endpoint may refuse it: 16 are about an hour.
RAG_MAX_ATTEMPTS = env.int("RAG_MAX_ATTEMPTS", default=3)
# After so long without any worker taking anything, queued documents are called starved.
# For so long what was sent of failed documents is kept, so that they can be tried again.
RAG_JOB_RETENTION_DAYS = env.int("RAG_JOB_RETENTION_DAYS", default=30)
# For so long searches and conversations are kept where an organisation says nothing else, and audit events (at least
# 90). 0: for ever.
RAG_HISTORY_RETENTION_DAYS = env.int("RAG_HISTORY_RETENTION_DAYS", default=90)
RAG_AUDIT_RETENTION_DAYS = env.int("RAG_AUDIT_RETENTION_DAYS", default=730)
RAG_SWEEP_INTERVAL_SECONDS = env.int("RAG_SWEEP_INTERVAL_SECONDS", default=10)

# What passages are found by unless a request says: "dense" (meaning), "lexical" (words) or "hybrid" (both).
RAG_RETRIEVAL_MODE = env.str("RAG_RETRIEVAL_MODE", default="hybrid")

# Up to this many chunks in scope are compared exactly; above, the HNSW index is queried
# (docs/decisions/0022-exact-or-approximate.md).
RAG_EXACT_SEARCH_MAX_CHUNKS = env.int("RAG_EXACT_SEARCH_MAX_CHUNKS", default=20_000)
# Memory for building that index: one that does not fit is built several times as slowly. 1 KB a chunk and more.
RAG_INDEX_BUILD_MEMORY_MB = env.int("RAG_INDEX_BUILD_MEMORY_MB", default=512)

# How much worse (nDCG@10, 0 to 1) a new embedding model may be than the old one, and tonight than the last time.
# When golden questions are asked every night (hour, UTC), and for how long those of one source at most.

# The password of the demo accounts that `make run` makes, on loopback only.
RAG_DEMO_PASSWORD = env.str("RAG_DEMO_PASSWORD", default="ragsite-demo")
