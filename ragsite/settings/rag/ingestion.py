"""Ingestion: jobs, parsing, chunking, and the workers that do it."""

from ragsite.settings.env import env

# Larger request bodies are refused (413) before they are read.
RAG_MAX_BODY_BYTES = env.int("RAG_MAX_BODY_BYTES", default=32 * 1024 * 1024)
RAG_MAX_DOCUMENTS_PER_JOB = 10_000

# Parsing one file: wall clock and CPU time, and memory beyond that of an idle parser process.
RAG_PARSE_TIMEOUT_SECONDS = env.float("RAG_PARSE_TIMEOUT_SECONDS", default=120.0)
RAG_OCR_MAX_PAGES = env.int("RAG_OCR_MAX_PAGES", default=100)
# With text recognition (OCR), which takes 4 to 9 seconds per page.
RAG_OCR_TIMEOUT_SECONDS = max(600.0, 6.0 * RAG_OCR_MAX_PAGES, RAG_PARSE_TIMEOUT_SECONDS)
# Languages of the program Tesseract, such as "rus+ara"; empty if it is not used.
RAG_OCR_TESSERACT_LANGUAGES = env.str("RAG_OCR_TESSERACT_LANGUAGES", default="")
RAG_PARSE_MAX_MEMORY_MB = env.int("RAG_PARSE_MAX_MEMORY_MB", default=1024)

# In OpenAI tokens. A value that is set applies to all documents. Otherwise the size that measured best
# (docs/decisions/0015-chunk-size.md) does, except in jobs, for which the pipeline contract prescribes another one.
_chunk_tokens = env.int("RAG_CHUNK_TOKENS", default=None)
_chunk_overlap_tokens = env.int("RAG_CHUNK_OVERLAP_TOKENS", default=None)
RAG_CHUNK_TOKENS = 256 if _chunk_tokens is None else _chunk_tokens
RAG_CHUNK_OVERLAP_TOKENS = 64 if _chunk_overlap_tokens is None else _chunk_overlap_tokens
RAG_JOB_CHUNK_TOKENS = 512 if _chunk_tokens is None else _chunk_tokens
RAG_JOB_CHUNK_OVERLAP_TOKENS = 50 if _chunk_overlap_tokens is None else _chunk_overlap_tokens

# A worker's lease of a document. The worker renews it three times as often.
RAG_LEASE_SECONDS = 20
# How often a document is tried when its worker is lost or the embedding endpoint rejects it.
RAG_MAX_ATTEMPTS = 3
# How often the sweep recovers lost work, and how often other frequent tasks run.
RAG_SWEEP_INTERVAL_SECONDS = 10
