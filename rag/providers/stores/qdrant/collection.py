"""The collection of an embedding model: its name, its settings, and the filters of searches.

The dense vectors are compared as one byte per dimension in memory and rescored with 16-bit floats on the disk. The
organisation is the tenant key: Qdrant stores the points of an organisation next to each other.

Token vectors are a multivector. They have no graph, because they are only compared with candidates. Qdrant makes one
bit per dimension of them, which are the signatures in PostgreSQL again, and compares these bits with 8 bits of the
query. What it makes them of is stored with 4 bits per dimension (turbo4), which keep the signs.
"""

import uuid
from collections.abc import Collection

from django.conf import settings

from rag.models import EmbeddingModel
from rag.types import Filters

DENSE, WORDS, TOKENS = "dense", "words", "tokens"
# Those of the local model, which computes all token vectors.
TOKEN_DIMENSIONS = 384
# The fields of a point's payload, and how Qdrant indexes those that searches filter by.
INDEXES: dict[str, dict[str, object]] = {
    "organization": {"type": "uuid", "is_tenant": True},
    "source": {"type": "uuid"},
    "document": {"type": "uuid"},
    "source_type": {"type": "keyword"},
    "content_type": {"type": "keyword"},
    "lang": {"type": "keyword"},
    "tags": {"type": "keyword"},
    "date": {"type": "datetime"},
}


def name(model_id: uuid.UUID) -> str:
    """Return the name of the model's collection."""
    return f"{settings.QDRANT_COLLECTION_PREFIX}_{model_id.hex}"


_TOKENS: dict[str, object] = {
    "size": TOKEN_DIMENSIONS,
    "distance": "Dot",
    "datatype": "turbo4",
    "on_disk": True,
    "multivector_config": {"comparator": "max_sim"},
    "hnsw_config": {"m": 0},
    "quantization_config": {"binary": {"always_ram": False, "query_encoding": "scalar8bits"}},
}


def description(model: EmbeddingModel) -> dict[str, object]:
    """Return the settings with which the model's collection is created."""
    dense = {"size": model.dimensions, "distance": "Cosine", "datatype": "float16", "on_disk": True}
    return {
        "vectors": {DENSE: dense} | ({TOKENS: _TOKENS} if settings.QDRANT_TOKEN_VECTORS else {}),
        "sparse_vectors": {WORDS: {}},
        "hnsw_config": {"m": 16, "ef_construct": 128},
        "quantization_config": {"scalar": {"type": "int8", "quantile": 0.99, "always_ram": True}},
        "on_disk_payload": True,
    }


def conditions(sources: Collection[uuid.UUID], organizations: Collection[uuid.UUID], filters: Filters) -> list[object]:
    """Return the conditions of points in these sources of these organisations that match the filters."""
    any_of = {
        "organization": list(map(str, organizations)),
        "source": list(map(str, sources)),
        "tags": list(filters.tags),
        "source_type": list(filters.source_types),
        "content_type": list(filters.content_types),
        "lang": list(filters.langs),
    }
    result: list[object] = [{"key": key, "match": {"any": values}} for key, values in any_of.items() if values]
    bounds = {"gte": filters.date_from, "lte": filters.date_to}
    if dates := {key: value.isoformat() for key, value in bounds.items() if value}:
        result.append({"key": "date", "range": dates})
    return result
