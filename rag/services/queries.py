"""Questions: the caller's scope, then the pipeline."""

import uuid
from collections.abc import Sequence
from itertools import groupby

from accounts.models import User
from orgs.models import Organization
from rag.errors import NoAccessibleSources
from rag.models import Action
from rag.models.sources import DataSourceQuerySet
from rag.pipeline import query
from rag.types import Passage, Question, Retrieval, Scope

from . import sources


def retrieve(
    *,
    question: Question,
    user: User,
    organization: Organization | None = None,
    data_sources: Sequence[str] = (),
    slug: str = "",
    organization_id: uuid.UUID | None = None,
) -> Retrieval:
    """The best passages that the user may read.

    data_sources: ids or slugs to search instead of all; each must be visible, else UnknownSource. slug,
    organization_id: filters, which may match nothing. Raises NoAccessibleSources if the user may query no source at
    all, and what the pipeline raises.
    """
    open_sources = sources.visible(user, Action.QUERY, organization=organization)
    if data_sources:
        chosen = [sources.named(open_sources, reference).pk for reference in dict.fromkeys(data_sources)]
        open_sources = open_sources.filter(pk__in=chosen)
    if slug:
        open_sources = open_sources.filter(slug=slug)
    if organization_id:
        open_sources = open_sources.filter(organization=organization_id)
    scopes = _scopes(open_sources, question)
    if not (scopes or slug or organization_id):
        raise NoAccessibleSources("There is no data source that you may query.")
    return query.find(question, scopes)


def search(
    *,
    question: Question,
    user: User,
    organization: Organization | None = None,
    slug: str = "",
    organization_id: uuid.UUID | None = None,
) -> tuple[Passage, ...]:
    """`retrieve` for contracts in which a user who may query no source is not refused, but finds nothing."""
    try:
        found = retrieve(
            question=question, user=user, organization=organization, slug=slug, organization_id=organization_id
        )
    except NoAccessibleSources:
        return ()
    return found.passages


def _scopes(open_sources: DataSourceQuerySet, question: Question) -> list[Scope]:
    """One scope for each embedding model: vectors of two models are never compared."""
    rows = open_sources.order_by("embedding_model_id", "pk").values_list("embedding_model_id", "pk")
    return [
        Scope(source_ids=tuple(pk for _, pk in group), model_id=model_id, filters=question.filters)
        for model_id, group in groupby(rows, key=lambda row: row[0])
    ]
