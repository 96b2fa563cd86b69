"""Models: embedding, language, rerank and entailment models, and how many calls of them run at a time."""

import os

from django.core.exceptions import ImproperlyConfigured

from ragsite.settings.env import DATA_DIR, env

# The embedding model of new data sources. Its row is created on first use.
RAG_EMBEDDING_MODEL = env.str("RAG_EMBEDDING_MODEL", default="all-MiniLM-L6-v2")
# The local model that embeds a source in addition, as soon as questions or documents are not English. Empty: none.
RAG_MULTILINGUAL_MODEL = env.str("RAG_MULTILINGUAL_MODEL", default="universal-sentence-encoder-multilingual-3")
if RAG_MULTILINGUAL_MODEL not in ("", "universal-sentence-encoder-multilingual-3"):
    raise ImproperlyConfigured("RAG_MULTILINGUAL_MODEL must be universal-sentence-encoder-multilingual-3 or empty.")
# The local model's graph is built once from its weights and stored here.
RAG_MODEL_CACHE_FOLDER = DATA_DIR / "models"
# Which chunks get token signatures, computed by the local model, for reranking by late interaction: "local" those of
# sources that the local model embeds, "all" those of remote models too, "off" none.
RAG_TOKEN_SIGNATURES = env.str("RAG_TOKEN_SIGNATURES", default="local")
if RAG_TOKEN_SIGNATURES not in ("local", "all", "off"):
    raise ImproperlyConfigured("RAG_TOKEN_SIGNATURES must be local, all or off.")
# Remote embedding calls: the timeout of one attempt, and the attempts after the first.
RAG_EMBEDDING_TIMEOUT_SECONDS = env.float("RAG_EMBEDDING_TIMEOUT_SECONDS", default=30.0)
RAG_EMBEDDING_MAX_RETRIES = 2

# How many documents of waiting clients the local model embeds at a time, in all web processes of the machine. The
# other cores remain for questions. As many pictures of cited pages are drawn, and very long texts read, at a time.
RAG_MAX_DOCUMENT_EMBEDDINGS = max(1, (os.cpu_count() or 1) // 2)

# How many requests of a web process may stream an answer or wait for a model, of all kinds together. The other threads
# of its 24 (ragsite.run.web) remain for short requests. One account gets at most half of these places.
RAG_MAX_LONG_REQUESTS = 16
# Concurrent calls of remote language models per web process, and as many of remote embedding models. Besides, as many
# documents of waiting clients may wait for the local model.
RAG_MAX_MODEL_CALLS = 10
# Hosts, addresses and networks (10.0.0.0/8) in private ranges that endpoints of embedding models may use. Endpoints
# that are set in the environment may use any address.
RAG_ALLOWED_PRIVATE_HOSTS = env.list("RAG_ALLOWED_PRIVATE_HOSTS", default=[])

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

# The rerank endpoint, Cohere-compatible (Cohere, Jina, Voyage, vLLM) or TEI (dialect "tei"), and other models that
# clients may choose: {"name": {"base_url": …, "key_variable": …, "dialect": …}}.
RAG_RERANK_BASE_URL = env.str("RAG_RERANK_BASE_URL", default="")
RAG_RERANK_API_KEY = env.str("RAG_RERANK_API_KEY", default="")
RAG_RERANK_MODEL = env.str("RAG_RERANK_MODEL", default="")
RAG_RERANK_DIALECT = env.str("RAG_RERANK_DIALECT", default="cohere")
RAG_RERANK_OTHER_MODELS = env.json("RAG_RERANK_OTHER_MODELS", default={})

# The entailment model that validates written answers: behind Text Embeddings Inference (dialect "tei") or vLLM's score
# API ("score"). Without RAG_ENTAILMENT_MODEL only words, token vectors, names and numbers are compared.
RAG_ENTAILMENT_MODEL = env.str("RAG_ENTAILMENT_MODEL", default="")
RAG_ENTAILMENT_BASE_URL = env.str("RAG_ENTAILMENT_BASE_URL", default="")
if RAG_ENTAILMENT_MODEL and not RAG_ENTAILMENT_BASE_URL:
    raise ImproperlyConfigured("RAG_ENTAILMENT_MODEL needs RAG_ENTAILMENT_BASE_URL, the address of the model.")
RAG_ENTAILMENT_API_KEY = env.str("RAG_ENTAILMENT_API_KEY", default="")
RAG_ENTAILMENT_DIALECT = env.str("RAG_ENTAILMENT_DIALECT", default="tei")
if RAG_ENTAILMENT_DIALECT not in ("tei", "score"):
    raise ImproperlyConfigured("RAG_ENTAILMENT_DIALECT must be tei or score.")
