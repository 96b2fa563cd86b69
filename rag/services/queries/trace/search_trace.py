"""Explains a search stage by stage to a manager of the data sources.

The retrieval pipeline reports its stages (rag.types.SearchTrace). Only sources that the caller manages, and that both
the caller and the user may query, are searched, counted and shown (trace_permissions).
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Sum

from orgs.access.caller import Caller
from rag.errors import UnknownDocument
from rag.models import Document
from rag.models.sources import DataSourceQuerySet
from rag.pipeline.answering.answer_question import assess
from rag.pipeline.answering.prompt import DEFAULT_PROMPT_TOKENS
from rag.pipeline.retrieval import retrieve
from rag.pipeline.retrieval.query.spelling.correct_spelling import correct_spelling
from rag.services.queries import permitted_queries
from rag.services.queries.scopes_by_embedding_model import build_scopes
from rag.types import AnswerOptions, Filters, Grounding, Passage, Question, Retrieval, SearchScope
from ragsite.postgres import identity
from ragsite.postgres.models import as_uuid

from . import trace_permissions
from .document_explanation import DocumentExplanation, candidate_ids, explain_document, relevant_ids
from .trace_permissions import TraceRequest, UnsearchedSource

_NOT_GROUNDED = Grounding(is_groundable=False, score=0.0, relevant=(), gaps=())


@dataclass(frozen=True, slots=True)
class StageCounts:
    """How many sources, chunks and passages remained after each stage.

    Attributes:
        sources: The searched sources.
        chunks: The chunks of the documents in scope.
        dense: The candidates of the vector search.
        lexical: The candidates of the term search.
        candidates: The candidates of both searches, each counted once.
        above_threshold: The candidates with at least the minimum score.
        deduplicated: The best of these candidates, without copies.
        ranked: The returned passages.
        grounded: The passages that are relevant enough to answer from.
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
        counts_for_answer: Whether the passage is relevant enough to answer from.
    """

    passage: Passage
    counts_for_answer: bool


@dataclass(frozen=True, slots=True)
class SearchExplanation:
    """The search, stage by stage.

    Attributes:
        is_member: Whether the user is a member of an organisation in scope.
        gaps: Parts of the question that no passage mentions.
        document: What the search did with the requested document; None if the request names no document.
        unsearched: Managed sources that were not searched.
    """

    is_member: bool
    counts: StageCounts
    passages: tuple[TracedPassage, ...]
    is_groundable: bool
    grounding_score: float
    gaps: tuple[str, ...]
    source_ids: tuple[uuid.UUID, ...]
    warnings: tuple[str, ...]
    document: DocumentExplanation | None
    unsearched: tuple[UnsearchedSource, ...]


def explain_search(question: Question, request: TraceRequest) -> SearchExplanation:
    """Run a search as the given user and report what each stage did.

    Raises:
        NotAllowed: If the caller manages no source, or does not manage a named one.
        UnknownSource: If a named source is not visible to the caller.
        UnknownDocument: If the document does not exist in the managed sources.
        RagError: If the query pipeline fails.
    """
    scope = trace_permissions.resolve_scope(request)
    user = scope.user
    document = _get_document(request.document_id, scope.managed) if request.document_id else None
    scopes = build_scopes(scope.searched, question)
    with identity.run_as(Caller(user).database_identity if user else identity.ANONYMOUS):
        retrieval, grounding, document_explanation = _run_search(question, scopes, document)
    answer_ids = relevant_ids(grounding)
    return SearchExplanation(
        is_member=user is not None,
        counts=_stage_counts(retrieval, grounding, question.filters),
        passages=tuple(TracedPassage(passage, passage.chunk_id in answer_ids) for passage in retrieval.passages),
        is_groundable=grounding.is_groundable,
        grounding_score=grounding.score,
        gaps=grounding.gaps,
        source_ids=retrieval.source_ids.ids,
        warnings=(*retrieval.warnings, *grounding.warnings),
        document=document_explanation,
        unsearched=scope.unsearched,
    )


def _run_search(
    question: Question, scopes: Sequence[SearchScope], document: Document | None
) -> tuple[Retrieval, Grounding, DocumentExplanation | None]:
    """Run the stages that read chunks, with the database identity of the user who searches."""
    question = correct_spelling(question, scopes)
    retrieval = retrieve.find_passages(question, scopes) if scopes else permitted_queries.NO_RESULTS
    grounding = _NOT_GROUNDED
    if retrieval.passages:
        _, grounding = assess(question, retrieval, AnswerOptions(max_prompt_tokens=DEFAULT_PROMPT_TOKENS))
    return retrieval, grounding, explain_document(document, question, retrieval, grounding) if document else None


def _get_document(document_id: str, managed: DataSourceQuerySet) -> Document:
    pk = as_uuid(document_id)
    documents = Document.objects.live().filter(source__in=managed.values("pk")).without_text()
    document: Document | None = documents.filter(pk=pk).first() if pk else None
    if document is None:
        raise UnknownDocument
    return document


def _stage_counts(retrieval: Retrieval, grounding: Grounding, filters: Filters) -> StageCounts:
    """Count what remained after each stage."""
    trace = retrieval.trace
    documents = Document.objects.live().matching(filters).filter(source__in=retrieval.source_ids.ids)
    return StageCounts(
        sources=len(retrieval.source_ids.ids),
        chunks=documents.aggregate(chunks=Sum("chunk_count"))["chunks"] or 0,
        dense=len(trace.dense),
        lexical=len(trace.lexical),
        candidates=len(candidate_ids(trace)),
        above_threshold=len(trace.above_threshold),
        deduplicated=len(trace.deduplicated),
        ranked=len(retrieval.passages),
        grounded=len(grounding.relevant) if grounding.is_groundable else 0,
    )
