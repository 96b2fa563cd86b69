"""Explains a search step by step to a manager of the data sources.

The retrieval pipeline reports its steps (rag.types.SearchTrace). Only sources that the caller manages and that the
user may query are searched, counted and shown.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Sum

from accounts.models import User
from orgs.access.caller import Caller
from orgs.models import Organization
from rag.errors import NotAllowed, UnknownDocument
from rag.models import Action, DataSource, Document
from rag.models.sources import DataSourceQuerySet
from rag.pipeline.answering.answer import DEFAULT_PROMPT_TOKENS, assess
from rag.pipeline.retrieval import retrieve
from rag.services.access import explain as access_explanation
from rag.services.sources import lookup as sources
from rag.types import AnswerOptions, Filters, Grounding, Passage, Question, Retrieval, SearchScope
from ragsite.postgres import identity
from ragsite.postgres.models import as_uuid

from . import queries
from .document_outcome import DocumentOutcome, candidate_ids, explain_outcome, relevant_ids

_NOT_GROUNDED = Grounding(is_groundable=False, score=0.0, relevant=(), gaps=())


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """Who asks for the explanation of a search, and whose search it is.

    Attributes:
        caller: The caller who asks for the explanation; they must manage the sources.
        user: Id or e-mail address of the user who searches; empty for the caller.
        organization: Only sources of this organisation, if the request names one.
        data_sources: Ids or slugs of sources that the caller manages; empty for all of them.
        document_id: The document whose outcome is explained; empty for none.
        may_read: Whether the caller's credential may read texts. A text is shown only if the caller may also query its
            source.
    """

    caller: Caller
    user: str = ""
    organization: Organization | None = None
    data_sources: Sequence[str] = ()
    document_id: str = ""
    may_read: bool = True


@dataclass(frozen=True, slots=True)
class StageCounts:
    """How many sources, chunks and passages remained after each step.

    Attributes:
        sources: The searched sources.
        chunks: The chunks of the documents in scope.
        dense: The candidates of the vector search.
        lexical: The candidates of the term search.
        candidates: The candidates of both searches, each counted once.
        above_threshold: The candidates with at least the minimum score.
        deduplicated: The best of these candidates, without copies.
        ranked: The returned passages.
        grounded: The passages to answer from.
    """

    sources: int = 0
    chunks: int = 0
    dense: int = 0
    lexical: int = 0
    candidates: int = 0
    above_threshold: int = 0
    deduplicated: int = 0
    ranked: int = 0
    grounded: int = 0


@dataclass(frozen=True, slots=True)
class TracedPassage:
    """A passage of the explained search.

    Attributes:
        text: The passage's text; None if the caller may not query the source.
        counts_for_answer: Whether the passage is relevant enough to answer from.
    """

    passage: Passage
    text: str | None
    counts_for_answer: bool


@dataclass(frozen=True, slots=True)
class SearchExplanation:
    """The search, step by step.

    Attributes:
        is_member: Whether the user is a member of an organisation in scope.
        gaps: Parts of the question that no passage mentions; empty if the caller may not read all of the passages.
        outcome: The outcome of the requested document; None if the request names no document.
    """

    is_member: bool
    counts: StageCounts
    passages: tuple[TracedPassage, ...]
    is_groundable: bool
    grounding_score: float
    gaps: tuple[str, ...]
    source_ids: tuple[uuid.UUID, ...]
    warnings: tuple[str, ...]
    outcome: DocumentOutcome | None


def explain_search(question: Question, request: TraceRequest) -> SearchExplanation:
    """Run a search as the given user and report what each step did.

    Raises:
        NotAllowed: If the caller manages no source, or does not manage a named one.
        UnknownSource: If a named source is not visible to the caller.
        UnknownDocument: If the document does not exist in the managed sources.
        RagError: If the query pipeline fails.
    """
    managed = _managed_sources(request)
    document = _get_document(request.document_id, managed) if request.document_id else None
    user = _get_user(request, managed)
    scopes = queries.build_scopes(_queryable_sources(user, managed), question.filters) if user else []
    with identity.run_as(Caller(user).database_identity if user else identity.NOBODY):
        retrieval, grounding, outcome = _run_search(question, scopes, document)
    passages = _traced_passages(retrieval, grounding, request)
    return SearchExplanation(
        is_member=user is not None,
        counts=_stage_counts(retrieval, grounding, question.filters),
        passages=passages,
        is_groundable=grounding.is_groundable,
        grounding_score=grounding.score,
        # Gaps reveal which words the passages contain.
        gaps=grounding.gaps if all(passage.text is not None for passage in passages) else (),
        source_ids=retrieval.source_ids,
        warnings=(*retrieval.warnings, *grounding.warnings),
        outcome=outcome,
    )


def _run_search(
    question: Question, scopes: Sequence[SearchScope], document: Document | None
) -> tuple[Retrieval, Grounding, DocumentOutcome | None]:
    """Run the steps that read chunks, with the database identity of the user who searches."""
    retrieval = retrieve.find_passages(question, scopes) if scopes else queries.NO_RESULTS
    grounding = _NOT_GROUNDED
    if retrieval.passages:
        _, grounding = assess(question, retrieval, AnswerOptions(max_tokens=DEFAULT_PROMPT_TOKENS))
    return retrieval, grounding, explain_outcome(document, question, retrieval, grounding) if document else None


def _managed_sources(request: TraceRequest) -> DataSourceQuerySet:
    """Return the named sources that the caller manages, or all of them if the request names none."""
    managed = sources.visible_sources(request.caller, Action.MANAGE, organization=request.organization)
    if request.data_sources:
        source_ids = [
            sources.get_source_to_manage(
                request.caller, reference, organization=request.organization, denied_message=sources.MAY_NOT_EXPLAIN
            ).pk
            for reference in dict.fromkeys(request.data_sources)
        ]
        managed = managed.filter(pk__in=source_ids)
    if not managed.exists():
        raise NotAllowed(sources.MANAGES_NOTHING)
    return managed


def _get_user(request: TraceRequest, managed: DataSourceQuerySet) -> User | None:
    if not request.user:  # the caller, with all their permissions, also if their API key has fewer
        return User.objects.filter(pk=request.caller.authenticated_user.pk).first()
    return access_explanation.find_person(request.user, managed.values("organization"), asker=request.caller)


def _queryable_sources(user: User, managed: DataSourceQuerySet) -> DataSourceQuerySet:
    return managed.filter(pk__in=DataSource.objects.visible_to(Caller(user), Action.QUERY).values("pk"))


def _get_document(document_id: str, managed: DataSourceQuerySet) -> Document:
    pk = as_uuid(document_id)
    documents = Document.objects.live().filter(source__in=managed.values("pk"))
    document: Document | None = documents.filter(pk=pk).first() if pk else None
    if document is None:
        raise UnknownDocument
    return document


def _stage_counts(retrieval: Retrieval, grounding: Grounding, filters: Filters) -> StageCounts:
    """Count what remained after each step."""
    trace = retrieval.trace
    documents = Document.objects.live().matching(filters).filter(source__in=retrieval.source_ids)
    return StageCounts(
        sources=len(retrieval.source_ids),
        chunks=documents.aggregate(chunks=Sum("chunk_count"))["chunks"] or 0,
        dense=len(trace.dense),
        lexical=len(trace.lexical),
        candidates=len(candidate_ids(trace)),
        above_threshold=len(trace.above_threshold),
        deduplicated=len(trace.deduplicated),
        ranked=len(retrieval.passages),
        grounded=len(grounding.relevant) if grounding.is_groundable else 0,
    )


def _traced_passages(retrieval: Retrieval, grounding: Grounding, request: TraceRequest) -> tuple[TracedPassage, ...]:
    queryable = DataSource.objects.visible_to(request.caller, Action.QUERY).filter(pk__in=retrieval.source_ids)
    readable_ids = set(queryable.values_list("pk", flat=True)) if request.may_read else set()
    answer_ids = relevant_ids(grounding)
    return tuple(
        TracedPassage(
            passage,
            text=passage.text if passage.source_id in readable_ids else None,
            counts_for_answer=passage.chunk_id in answer_ids,
        )
        for passage in retrieval.passages
    )
