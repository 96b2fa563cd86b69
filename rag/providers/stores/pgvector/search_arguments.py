"""The scope and the filters of a search as arguments of the SQL functions that search."""

from rag.models.search.granted_scopes import GRANTS, grant_values
from rag.types import SearchScope
from ragsite.postgres.statements.round_trips import Value

# rag/migrations/sql/README.md says where the types `rag_scope` and `rag_filters`, and the functions that use them, are.
# A scope, with the values of `scope_values`.
SCOPE = f"ROW(%s, %s::uuid[], %s, %s::uuid[], %s::uuid[], {GRANTS}, NULL)::rag_scope"
# The filters, with the values of `filter_values`.
FILTERS = "ROW(NULL, %s::text[], %s::text[], %s::text[], %s::text[], %s, %s)::rag_filters"


def scope_values(scope: SearchScope) -> list[Value]:
    """Return the values of `SCOPE`."""
    organizations, second_of, sources = map(list, (scope.public_in, scope.second_of, scope.source_ids))
    return [scope.model_id, organizations, scope.model_use.value, second_of, sources, *grant_values(scope.grants)]


def filter_values(scope: SearchScope) -> list[Value]:
    """Return the values of `FILTERS`; None for a filter that does not restrict."""
    filters = scope.filters
    names = (filters.tags, filters.source_types, filters.content_types, filters.langs)
    return [*(list(values) or None for values in names), filters.date_from, filters.date_to]
