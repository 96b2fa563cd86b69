"""The filters of a search as SQL over the columns that documents and vectors share."""

import datetime
import uuid

from django.db import connection

from rag.types import SearchScope

# A value of a SQL statement.
SqlValue = uuid.UUID | datetime.datetime | str | int | list[uuid.UUID] | list[str] | list[int] | None

# A scope as the SQL functions that search expect it (rag/migrations/sql/scopes.sql), with the values of `scope_values`.
SCOPE = "ROW(%s, %s::uuid[], %s, %s::uuid[], %s::uuid[])::rag_scope"

# Maximum number of documents to look up one by one. More take longer than reading a table of 100,000 chunks.
_MAX_TAGGED_DOCUMENTS = 2_000


def scope_values(scope: SearchScope) -> list[SqlValue]:
    """Return the values of `SCOPE`."""
    organizations, second_of, sources = map(list, (scope.public_in, scope.second_of, scope.source_ids))
    return [scope.model_id, organizations, scope.model_use.value, second_of, sources]


def filter_arguments(scope: SearchScope) -> list[SqlValue]:
    """Return the filters as arguments of the SQL functions that search; None for a filter that does not restrict."""
    filters = scope.filters
    names = (filters.tags, filters.source_types, filters.content_types, filters.langs)
    lists = [list(values) or None for values in names]
    return [documents_with_tags(scope), *lists, filters.date_from, filters.date_to]


def documents_with_tags(scope: SearchScope) -> list[uuid.UUID] | None:
    """Look up the documents of the scope's sources that have one of its tags, by an index.

    Returns:
        The ids of the documents; None if the scope has no tags, or too many documents have one of its tags.
    """
    tags = list(scope.filters.tags)
    if not tags:
        return None
    limit = _MAX_TAGGED_DOCUMENTS + 1
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT rag_tagged_documents({SCOPE}, %s, %s)", [*scope_values(scope), tags, limit])
        ids = cursor.fetchone()[0]
    return ids if len(ids) <= _MAX_TAGGED_DOCUMENTS else None
