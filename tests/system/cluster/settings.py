"""The product's settings, without a vector index that would be built on the measured cores."""

from ragsite.settings import *

RAG_EXACT_SEARCH_MAX_CHUNKS = 1_000_000
