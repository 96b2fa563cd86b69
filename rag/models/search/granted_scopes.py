"""The sources that a caller may search: few granted ones one by one, and the embedding models of all others.

A function in the database (rag/migrations/sql/access_list_scopes.sql) reads all of it with one statement, and checks
the caller's access once more.
"""

import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from rag.models.embedding_models import MODEL_VERSION
from rag.types import MemberGrants
from ragsite.postgres.base import read_rows

# Up to this number, granted sources are listed. It is also the number up to which an unanswered question is stored
# (rag/services/evaluation/record_unanswered.py), because its readers must be permitted to read all of them.
MAX_LISTED = 200
# The type of the grants in SQL, with the values of `grant_values`.
GRANTS = "ROW(%s, %s::uuid[], %s::uuid[], %s::uuid[])::rag_grants"
_READ = (
    f"SELECT searched.*, {MODEL_VERSION} FROM rag_searched_models(%s::uuid[], {GRANTS}, %s::text[], %s) AS searched "
    "JOIN rag_embeddingmodel ON rag_embeddingmodel.id = searched.model_id"
)


@dataclass(frozen=True, slots=True)
class SearchedModel:
    """One source with its embedding model, or an embedding model of which the caller may search sources.

    Attributes:
        is_granted: Whether grants open the sources; otherwise they are public.
        source_id: The source; None for all public or all granted sources of the model.
        organization_id: The source's organisation.
        model_id: The embedding model.
        model_name: The embedding model's name.
        second_id: The source's second model.
        has_without: Whether there are sources of the model without complete vectors of a second model.
        has_with: Whether there are sources of the model with complete vectors of a second model.
        is_second: Whether there are sources with complete vectors of this model as their second one.
        version: The version of the model's row.
    """

    is_granted: bool
    source_id: uuid.UUID | None
    organization_id: uuid.UUID | None
    model_id: uuid.UUID
    model_name: str
    second_id: uuid.UUID | None
    has_without: bool
    has_with: bool
    is_second: bool
    version: str


def read(
    organizations: Iterable[uuid.UUID], grants: MemberGrants | None, english_names: Collection[str]
) -> list[SearchedModel]:
    """Return the models of the organisations' public sources, and of what the grants open: sources or models.

    Args:
        organizations: Organisations whose public sources the caller may query.
        grants: Who has the grants of other sources.
        english_names: The names of models beside which sources may have a second one.
    """
    values = [list(organizations), *grant_values(grants), list(english_names), MAX_LISTED]
    return [SearchedModel(*row) for row in read_rows(_READ, values)]


def grant_values(grants: MemberGrants | None) -> list[uuid.UUID | list[uuid.UUID] | None]:
    """Return the values of `GRANTS`."""
    if grants is None:
        return [None, None, None, None]
    return [grants.user_id, *map(list, (grants.role_ids, grants.team_ids, grants.organization_ids))]
