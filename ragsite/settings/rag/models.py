"""Ingestion, models, retrieval, answers and retention."""

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from ..env import DATA_DIR, env

# Larger request bodies are refused (413) before they are read.
RAG_MAX_BODY_BYTES = env.int("RAG_MAX_BODY_BYTES", default=32 * 1024 * 1024)
RAG_MAX_DOCUMENTS_PER_JOB = env.int("RAG_MAX_DOCUMENTS_PER_JOB", default=10_000)

# Parsing one file: wall clock and CPU time, and memory beyond that of an idle parser process.
RAG_PARSE_TIMEOUT_SECONDS = env.float("RAG_PARSE_TIMEOUT_SECONDS", default=120.0)
# Text recognition (OCR) takes some seconds per page.
RAG_OCR_TIMEOUT_SECONDS = env.float("RAG_OCR_TIMEOUT_SECONDS", default=600.0)
RAG_OCR_MAX_PAGES = env.int("RAG_OCR_MAX_PAGES", default=100)
RAG_PARSE_MAX_MEMORY_MB = env.int("RAG_PARSE_MAX_MEMORY_MB", default=1024)

# In OpenAI tokens; the defaults measured best (docs/decisions/0015-chunk-size.md).
RAG_CHUNK_TOKENS = env.int("RAG_CHUNK_TOKENS", default=256)
RAG_CHUNK_OVERLAP_TOKENS = env.int("RAG_CHUNK_OVERLAP_TOKENS", default=64)
# Jobs that set no chunk size: the pipeline contract's defaults, unless the variables above are set.
RAG_JOB_CHUNK_TOKENS = env.int("RAG_CHUNK_TOKENS", default=512)
RAG_JOB_CHUNK_OVERLAP_TOKENS = env.int("RAG_CHUNK_OVERLAP_TOKENS", default=50)

# The embedding model of new data sources. Its row is created on first use.
RAG_EMBEDDING_MODEL = env.str("RAG_EMBEDDING_MODEL", default="all-MiniLM-L6-v2")
# The local model that embeds a source in addition, as soon as questions or documents are not English. Empty: none.
RAG_MULTILINGUAL_MODEL = env.str("RAG_MULTILINGUAL_MODEL", default="universal-sentence-encoder-multilingual-3")
if RAG_MULTILINGUAL_MODEL not in ("", "universal-sentence-encoder-multilingual-3"):
    raise ImproperlyConfigured("RAG_MULTILINGUAL_MODEL must be universal-sentence-encoder-multilingual-3 or empty.")
# The local model's graph is built once from its weights and stored here.
RAG_MODEL_CACHE_FOLDER = Path(env.str("RAG_MODEL_CACHE_FOLDER", default=str(DATA_DIR / "models")))
# Threads of one local embedding call. Worker processes and request threads already run in parallel.
RAG_EMBEDDING_THREADS = env.int("RAG_EMBEDDING_THREADS", default=1)
# Which chunks get token signatures, computed by the local model, for reranking by late interaction: "local" those of
# sources that the local model embeds, "all" those of remote models too, "off" none.
RAG_TOKEN_SIGNATURES = env.str("RAG_TOKEN_SIGNATURES", default="local")
if RAG_TOKEN_SIGNATURES not in ("local", "all", "off"):
    raise ImproperlyConfigured("RAG_TOKEN_SIGNATURES must be local, all or off.")
# Remote embedding calls: the timeout of one attempt, and the attempts after the first.
RAG_EMBEDDING_TIMEOUT_SECONDS = env.float("RAG_EMBEDDING_TIMEOUT_SECONDS", default=30.0)
RAG_EMBEDDING_MAX_RETRIES = env.int("RAG_EMBEDDING_MAX_RETRIES", default=2)

# How many documents of waiting clients the local model embeds at a time, in all web processes of the machine. The
# other cores remain for questions.
RAG_MAX_DOCUMENT_EMBEDDINGS = env.int("RAG_MAX_DOCUMENT_EMBEDDINGS", default=max(1, (os.cpu_count() or 1) // 2))

# How many requests of a web process may stream an answer or wait for a model, of all kinds together. The other threads
# of its 24 (ragsite.run.web) remain for short requests. One account gets at most half of these places.
RAG_MAX_LONG_REQUESTS = env.int("RAG_MAX_LONG_REQUESTS", default=16)
# Concurrent calls of remote language models per web process, and as many of remote embedding models. Besides, as many
# documents of waiting clients may wait for the local model.
RAG_MAX_MODEL_CALLS = env.int("RAG_MAX_MODEL_CALLS", default=10)
# Hosts, addresses and networks (10.0.0.0/8) in private ranges that endpoints of embedding models may use. Endpoints
# that are set in the environment may use any address.
RAG_ALLOWED_PRIVATE_HOSTS = env.list("RAG_ALLOWED_PRIVATE_HOSTS", default=[])
# The same for webhooks. Organisations enter their addresses, so that this is a setting of its own.
RAG_WEBHOOK_PRIVATE_HOSTS = env.list("RAG_WEBHOOK_PRIVATE_HOSTS", default=[])

# Pull sync: the same for addresses of buckets and websites, by the slug of the organisation that may enter them or "*"
# for all: {"acme": ["files.internal"]}; likewise the folders on this server from which an organisation may fetch
# documents: {"acme": ["/srv/acme"]}; and how many items a sync lists at most.
RAG_SYNC_PRIVATE_HOSTS = env.lists_by_organization("RAG_SYNC_PRIVATE_HOSTS")
RAG_SYNC_FOLDERS = env.lists_by_organization("RAG_SYNC_FOLDERS")
# File systems of fsspec, by a name that people choose: {"archive": {"url": "sftp://files.example.com/export",
# "options": {"username": …, "password": …}, "organizations": ["acme"]}}.
RAG_SYNC_FILE_SYSTEMS = env.json("RAG_SYNC_FILE_SYSTEMS", default={})
RAG_SYNC_MAX_ITEMS = env.int("RAG_SYNC_MAX_ITEMS", default=100_000)

# The language model: any OpenAI-compatible endpoint. Without LLM_MODEL, answers are extractive: quoted sentences.
LLM_MODEL = env.str("LLM_MODEL", default="")
# Other models that clients may choose; empty: any model of the endpoint.
LLM_MODELS = env.list("LLM_MODELS", default=[])
# The first key that is set, with its endpoint unless LLM_BASE_URL is set.
_endpoints = {
    "LLM_API_KEY": "https://api.openai.com/v1",
    "OPENAI_API_KEY": "https://api.openai.com/v1",
    "OPENROUTER_API_KEY": "https://openrouter.ai/api/v1",
    "LOVABLE_API_KEY": "https://ai.gateway.lovable.dev/v1",
}
_key_name = next((name for name in _endpoints if env.str(name, default="")), "LLM_API_KEY")
LLM_API_KEY = env.str(_key_name, default="")
LLM_BASE_URL = env.str("LLM_BASE_URL", default=_endpoints[_key_name])
# Seconds for a whole call of the language model, including retries.
LLM_TIMEOUT = env.float("LLM_TIMEOUT", default=60.0)

# What judges whether passages can support an answer: "local" (terms and similarity) or "model" (the language model).
RAG_GROUNDING = env.str("RAG_GROUNDING", default="local")

# The rerank endpoint, Cohere-compatible (Cohere, Jina, Voyage, vLLM) or TEI (dialect "tei"), and other models that
# clients may choose: {"name": {"base_url": …, "key_variable": …, "dialect": …}}.
RAG_RERANK_BASE_URL = env.str("RAG_RERANK_BASE_URL", default="")
RAG_RERANK_API_KEY = env.str("RAG_RERANK_API_KEY", default="")
RAG_RERANK_MODEL = env.str("RAG_RERANK_MODEL", default="")
RAG_RERANK_DIALECT = env.str("RAG_RERANK_DIALECT", default="cohere")
RAG_RERANK_OTHER_MODELS = env.json("RAG_RERANK_OTHER_MODELS", default={})

# The retrieval contract's thresholds on the mean cosine of the best passages; an embedding model may have its own.
RAG_CONFIDENCE_HIGH_THRESHOLD = env.float("RAG_CONFIDENCE_HIGH_THRESHOLD", default=0.75)
RAG_CONFIDENCE_MEDIUM_THRESHOLD = env.float("RAG_CONFIDENCE_MEDIUM_THRESHOLD", default=0.60)

# A worker's lease of a document. The worker renews it three times as often.
RAG_LEASE_SECONDS = env.int("RAG_LEASE_SECONDS", default=20)
# How often a document is tried when its worker is lost or the embedding endpoint rejects it.
RAG_MAX_ATTEMPTS = env.int("RAG_MAX_ATTEMPTS", default=3)
# How long the input of failed documents is kept for a retry.
RAG_JOB_RETENTION_DAYS = env.int("RAG_JOB_RETENTION_DAYS", default=30)
# How long searches and conversations are kept, unless the organisation has its own period, and audit events (at least
# 90 days). 0: for ever.
RAG_HISTORY_RETENTION_DAYS = env.int("RAG_HISTORY_RETENTION_DAYS", default=90)
# How many bytes of searches and conversations one user may have. The oldest are deleted first.
RAG_MAX_HISTORY_BYTES = env.int("RAG_MAX_HISTORY_BYTES", default=50 * 1024 * 1024)
RAG_AUDIT_RETENTION_DAYS = env.int("RAG_AUDIT_RETENTION_DAYS", default=730)
# How long deliveries of webhooks are kept.
RAG_WEBHOOK_RETENTION_DAYS = env.int("RAG_WEBHOOK_RETENTION_DAYS", default=30)
# How long the counts and errors of syncs are kept.
RAG_SYNC_RETENTION_DAYS = env.int("RAG_SYNC_RETENTION_DAYS", default=30)
RAG_SWEEP_INTERVAL_SECONDS = env.int("RAG_SWEEP_INTERVAL_SECONDS", default=10)

# The retrieval mode of requests that set none: "dense", "lexical" or "hybrid".
RAG_RETRIEVAL_MODE = env.str("RAG_RETRIEVAL_MODE", default="hybrid")

# Scopes up to this size are searched exactly, larger ones with the HNSW index
# (docs/decisions/0022-exact-or-approximate.md).
RAG_EXACT_SEARCH_MAX_CHUNKS = env.int("RAG_EXACT_SEARCH_MAX_CHUNKS", default=20_000)
# Memory for building that index, at least 1 KB per chunk. Building is several times slower if it does not fit.
RAG_INDEX_BUILD_MEMORY_MB = env.int("RAG_INDEX_BUILD_MEMORY_MB", default=512)

# The password of the demo accounts that `make run` creates.
RAG_DEMO_PASSWORD = env.str("RAG_DEMO_PASSWORD", default="ragsite-demo")
# The pages of the demo data; empty for the documentation of the product.
RAG_DEMO_FOLDER = env.str("RAG_DEMO_FOLDER", default="")
