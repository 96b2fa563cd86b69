"""The filters of a search as SQL over the columns that documents and vectors share."""

import datetime
import uuid

from django.db import connection

from rag.models import Document
from rag.types import Filters, SearchScope
from ragsite.postgres import identity

# A value of a SQL statement.
SqlValue = uuid.UUID | datetime.datetime | str | int | list[uuid.UUID] | list[str] | list[int] | None

# The vectors of a deleted document stay until it is purged. PostgreSQL reads these ids once and hashes them.
NOT_DELETED = "document_id NOT IN (SELECT id FROM rag_document WHERE deleted_at IS NOT NULL AND chunk_count > 0)"
# Maximum number of documents to look up one by one. More take longer than reading a table of 100,000 chunks.
_MAX_TAGGED_DOCUMENTS = 2_000
# Lookup → SQL, into which the name of the column is filled.
_SQL = {
    "overlap": "{} && %s::text[]",
    "in": "{} = ANY(%s)",
    "gte": "{} >= %s",
    "lte": "{} <= %s",
}


def sql_conditions(filters: Filters) -> list[tuple[str, SqlValue]]:
    """Return the SQL conditions of the filters with their values. All of them must hold."""
    return [(_SQL[condition.lookup].format(condition.field), condition.value) for condition in filters.conditions]


def documents_with_tags(scope: SearchScope) -> list[uuid.UUID] | None:
    """Look up the documents of the scope's sources that have one of its tags, by an index.

    Returns:
        The ids of the documents; None if the scope has no tags, or too many documents have one of its tags.
    """
    tags = list(scope.filters.tags)
    if not tags:
        return None
    limit = _MAX_TAGGED_DOCUMENTS + 1
    if identity.current().user is None:  # a worker
        documents = Document.objects.filter(source__in=scope.source_ids, tags__overlap=tags).order_by()
        ids = list(documents.values_list("pk", flat=True)[:limit])
    else:
        with connection.cursor() as cursor:
            cursor.execute("SELECT rag_tagged_documents(%s, %s, %s)", [list(scope.source_ids), tags, limit])
            ids = cursor.fetchone()[0]
    return ids if len(ids) <= _MAX_TAGGED_DOCUMENTS else None
