"""Which search index is used: PostgreSQL with pgvector, or Qdrant."""

from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from ragsite.settings.env import env

VECTOR_STORE = env.str("VECTOR_STORE", default="pgvector")
if VECTOR_STORE not in ("pgvector", "qdrant"):
    raise ImproperlyConfigured("VECTOR_STORE must be pgvector or qdrant.")
# The address of Qdrant's REST API, such as http://qdrant:6333; there is no mode without a server.
QDRANT_URL = env.str("QDRANT_URL", default="")
if VECTOR_STORE == "qdrant" and not QDRANT_URL:
    raise ImproperlyConfigured("VECTOR_STORE=qdrant needs QDRANT_URL, such as http://qdrant:6333.")
if QDRANT_URL and not (urlsplit(QDRANT_URL).scheme in ("http", "https") and urlsplit(QDRANT_URL).hostname):
    raise ImproperlyConfigured("QDRANT_URL must be the http or https address of a Qdrant server.")
QDRANT_API_KEY = env.str("QDRANT_API_KEY", default="")
# What the names of the collections begin with, so that installations can share a server.
QDRANT_COLLECTION_PREFIX = env.str("QDRANT_COLLECTION_PREFIX", default="ragsite")
# Whether Qdrant has token vectors too, so that it computes late interaction in the request of the search.
QDRANT_TOKEN_VECTORS = env.bool("QDRANT_TOKEN_VECTORS", default=True)
