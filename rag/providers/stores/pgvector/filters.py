"""What a question is narrowed to, as SQL over the columns that a document and the copies of it have."""

import uuid
from typing import Any

from rag.models import Document
from rag.types import Filters, Scope
from ragsite.postgres import identity

# Of a deleted document vectors are left until it is purged. PostgreSQL reads these ids once and hashes them.
NOT_DELETED = "document_id NOT IN (SELECT id FROM rag_document WHERE deleted_at IS NOT NULL AND chunk_count > 0)"
# More documents take longer to be looked up one by one than a table of 100,000 chunks to be read.
_MOST_TAGGED = 2_000


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


def tagged(scope: Scope) -> list[uuid.UUID] | None:
    """The documents of the scope's sources that have one of its tags, by an index. None if no tags are asked for, or if
    they are more than looking them up is worth."""
    if not scope.filters.tags:
        return None
    found = Document.objects.filter(source__in=scope.source_ids, tags__overlap=list(scope.filters.tags)).order_by()
    # Under the callers' policies that index would not be used: its operator is not leakproof. These ids only narrow,
    # and whatever is read by them is fenced.
    with identity.acting(identity.WORKER):
        ids = list(found.values_list("pk", flat=True)[: _MOST_TAGGED + 1])
    return ids if len(ids) <= _MOST_TAGGED else None
