"""Questions: the caller's scope, then the pipeline."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import cast

from django.db import transaction

from orgs.access.caller import Caller
from orgs.models import Organization
from rag.errors import NoAccessibleSources
from rag.models import Action
from rag.models.sources import DataSourceQuerySet
from rag.pipeline.answering import answer as answering
from rag.pipeline.answering import confidence
from rag.pipeline.retrieval import retrieve as retrieval
from rag.services.access import access_watch
from rag.services.sources import lookup
from rag.types import (
    AnswerEvents,
    AnswerResult,
    ConfidentAnswer,
    Filters,
    GenerationOptions,
    Question,
    Result,
    Retrieval,
    Scope,
)

NOTHING = Retrieval(passages=(), total_found=0, source_ids=())


@dataclass(frozen=True, slots=True)
class SourceSelection:
    """Who searches, and in which data sources.

    organization: the one to search in, where the request names one. data_sources: ids or slugs to search instead of
    all; each must be visible, else UnknownSource. slug, organization_id: filters, which may match nothing.
    """

    caller: Caller
    organization: Organization | None = None
    data_sources: Sequence[str] = ()
    slug: str = ""
    organization_id: uuid.UUID | None = None


def retrieve(question: Question, reader: SourceSelection) -> Retrieval:
    """The best passages that the reader may read. Raises NoAccessibleSources if there is no source that they may query
    at all, UnknownSource, and what the pipeline raises."""
    return retrieval.find(question, _scopes(question, reader))


def search(question: Question, reader: SourceSelection) -> Retrieval:
    """`retrieve` for contracts in which a reader without any source is not refused, but finds nothing."""
    try:
        return retrieve(question, reader)
    except NoAccessibleSources:
        return NOTHING


def ask(question: Question, reader: SourceSelection, terms: answering.AnswerOptions) -> AnswerEvents[AnswerResult]:
    """A grounded answer on its way (rag.pipeline.answering.answer). Raises what `retrieve` raises, too, and
    AccessEnded."""
    return access_watch.watched(answering.ask(question, _scopes(question, reader), terms), reader.caller)


def answer_if_confident(
    question: Question, reader: SourceSelection, generation: GenerationOptions
) -> AnswerEvents[ConfidentAnswer]:
    """The retrieval contract's answer on its way (rag.pipeline.answering.confidence). A reader without sources finds
    nothing."""
    try:
        scopes = _scopes(question, reader)
    except NoAccessibleSources:
        scopes = []
    answer = confidence.answer_if_confident(question, scopes, generation)
    return access_watch.watched(answer, reader.caller)


def run_to_completion(events: AnswerEvents[Result]) -> Result:
    """What the events end in, for whoever does not stream."""
    while True:
        try:
            next(events)
        except StopIteration as end:
            return cast(Result, end.value)


@transaction.atomic
def _scopes(question: Question, reader: SourceSelection) -> list[Scope]:
    """One scope for each embedding model: vectors of two models are never compared."""
    scopes = build_scopes(_open_sources(reader), question.filters)
    if not (scopes or reader.slug or reader.organization_id):
        raise NoAccessibleSources
    return scopes


def build_scopes(open_sources: DataSourceQuerySet, filters: Filters) -> list[Scope]:
    """open_sources: that somebody may query. One scope for each embedding model."""
    rows = open_sources.order_by("embedding_model_id", "pk").values_list("embedding_model_id", "pk")
    return [
        Scope(source_ids=tuple(pk for _, pk in group), model_id=model_id, filters=filters)
        for model_id, group in groupby(rows, key=lambda row: row[0])
    ]


def _open_sources(reader: SourceSelection) -> DataSourceQuerySet:
    found = lookup.visible_sources(reader.caller, Action.QUERY, organization=reader.organization)
    if reader.data_sources:
        chosen = [lookup.get_source(found, reference).pk for reference in dict.fromkeys(reader.data_sources)]
        found = found.filter(pk__in=chosen)
    if reader.organization_id:
        found = found.filter(organization=reader.organization_id)
    return found.filter(slug=reader.slug) if reader.slug else found
