"""What a question is narrowed to, as SQL over the columns that a document and the copies of it have."""

from typing import Any

from rag.types import Filters

# Of a deleted document vectors are left until it is purged. PostgreSQL reads these ids once and hashes them.
NOT_DELETED = "document_id NOT IN (SELECT id FROM rag_document WHERE deleted_at IS NOT NULL AND chunk_count > 0)"


def conditions(filters: Filters) -> list[tuple[str, Any]]:
    """Conditions with their values, all of which must hold; none without filters."""
    possible = (
        ("tags && %s::text[]", list(filters.tags)),
        ("source_type = ANY(%s)", list(filters.source_types)),
        ("content_type = ANY(%s)", list(filters.content_types)),
        ("lang = ANY(%s)", list(filters.langs)),
        ("date >= %s", filters.date_from),
        ("date <= %s", filters.date_to),
    )
    return [(condition, value) for condition, value in possible if value]
