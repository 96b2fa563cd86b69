"""How a search came to its passages, step by step, for those who manage the sources that it went through.

The pipeline itself reports the steps (rag.types.SearchTrace). What is counted, named and shown is of sources that the asker
manages *and* the person may query: of others nothing is searched.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db.models import QuerySet, Sum

from accounts.models import User
from orgs.access.caller import Caller
from orgs.models import Organization
from rag.errors import NotAllowed, UnknownDocument
from rag.models import Action, Chunk, DataSource, Document
from rag.models.sources import DataSourceQuerySet
from rag.pipeline.answering.answer import AnswerOptions, assess
from rag.pipeline.retrieval import retrieve
from rag.services.access import explain as access_explanation
from rag.services.sources import lookup as sources
from rag.types import Filters, Grounding, Passage, Question, Retrieval, Scope, SearchTrace
from ragsite.postgres import identity
from ragsite.postgres.models import as_uuid

from . import queries

STAGES = ("sources", "chunks", "candidates", "aboveThreshold", "distinct", "ranked", "grounded")
_NOT_GROUNDED = Grounding(is_groundable=False, score=0.0, relevant=(), gaps=())


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """Whose search is explained to whom. user: an id or e-mail address, empty for the asker's own.

    data_sources: ids or slugs of some that the asker manages; empty for all of them. document_id: one whose fate is
    asked for. may_read: whether the asker may be shown texts at all; even then only of sources that they may query.
    """

    asker: Caller
    user: str = ""
    organization: Organization | None = None
    data_sources: Sequence[str] = ()
    document_id: str = ""
    may_read: bool = True


@dataclass(frozen=True, slots=True)
class StageCounts:
    """sources, documents' chunks in scope; candidates by meaning, by words and together; what each step left."""

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
    """text: None where the asker may not query the source. counts_for_answer: it was held to carry one."""

    passage: Passage
    text: str | None
    counts_for_answer: bool


@dataclass(frozen=True, slots=True)
class DocumentOutcome:
    """stage: the step at which the document fell out, or the last one, where it was found. reason: a sentence."""

    document_id: uuid.UUID
    is_found: bool
    stage: str
    reason: str


@dataclass(frozen=True, slots=True)
class SearchExplanation:
    """is_known: whether the person is a member of an organisation in scope. gaps: empty where the asker may not read
    all of the passages."""

    is_known: bool
    counts: StageCounts
    passages: tuple[TracedPassage, ...]
    is_groundable: bool
    grounding_score: float
    gaps: tuple[str, ...]
    source_ids: tuple[uuid.UUID, ...]
    warnings: tuple[str, ...]
    outcome: DocumentOutcome | None


def explain_search(question: Question, asked: TraceRequest) -> SearchExplanation:
    """Raises NotAllowed for who manages nothing or may only see a named source, UnknownSource, UnknownDocument, and
    what the pipeline raises."""
    managed = _managed(asked)
    document = _document(asked.document_id, managed) if asked.document_id else None
    person = _person(asked, managed)
    scopes = queries.build_scopes(_open_to(person, managed), question.filters) if person else []
    with identity.run_as(Caller(person).database_identity if person else identity.NOBODY):
        retrieval, grounding, fate = _searched(question, scopes, document)
    shown = _shown(retrieval, grounding, asked)
    return SearchExplanation(
        is_known=person is not None,
        counts=_counts(retrieval, grounding, question.filters),
        passages=shown,
        is_groundable=grounding.is_groundable,
        grounding_score=grounding.score,
        # They tell which words stand in the passages.
        gaps=grounding.gaps if all(each.text is not None for each in shown) else (),
        source_ids=retrieval.source_ids,
        warnings=(*retrieval.warnings, *grounding.warnings),
        outcome=fate,
    )


def _searched(
    question: Question, scopes: Sequence[Scope], document: Document | None
) -> tuple[Retrieval, Grounding, DocumentOutcome | None]:
    """All that reads passages, as the person whose search it is would have them read."""
    retrieval = retrieve.find(question, scopes) if scopes else queries.NOTHING
    grounding = _NOT_GROUNDED
    if retrieval.passages:
        _, grounding = assess(question, retrieval, AnswerOptions(max_tokens=settings.RAG_CONTEXT_TOKENS))
    return retrieval, grounding, _fate(document, question, retrieval, grounding) if document else None


def _managed(asked: TraceRequest) -> DataSourceQuerySet:
    managed = sources.visible_sources(asked.asker, Action.MANAGE, organization=asked.organization)
    if asked.data_sources:
        named = [
            sources.get_source_to_manage(
                asked.asker, each, organization=asked.organization, refusal=sources.MAY_NOT_EXPLAIN
            ).pk
            for each in dict.fromkeys(asked.data_sources)
        ]
        managed = managed.filter(pk__in=named)
    if not managed.exists():
        raise NotAllowed(sources.MANAGES_NOTHING)
    return managed


def _person(asked: TraceRequest, managed: DataSourceQuerySet) -> User | None:
    if not asked.user:
        return User.objects.filter(
            pk=asked.asker.user.pk
        ).first()  # with all that they may, whatever key they came with
    return access_explanation.person(asked.user, managed.values("organization"), asker=asked.asker)


def _open_to(person: User, managed: DataSourceQuerySet) -> DataSourceQuerySet:
    return managed.filter(pk__in=DataSource.objects.visible_to(Caller(person), Action.QUERY).values("pk"))


def _document(document_id: str, managed: DataSourceQuerySet) -> Document:
    key = as_uuid(document_id)
    found = Document.objects.live().filter(pk=key, source__in=managed.values("pk")).first() if key else None
    if found is None:
        raise UnknownDocument
    return found


def _counts(retrieval: Retrieval, grounding: Grounding, filters: Filters) -> StageCounts:
    trace = retrieval.trace
    in_scope = _narrowed(Document.objects.live().filter(source__in=retrieval.source_ids), filters)
    return StageCounts(
        sources=len(retrieval.source_ids),
        chunks=in_scope.aggregate(chunks=Sum("chunk_count"))["chunks"] or 0,
        dense=len(trace.dense),
        lexical=len(trace.lexical),
        candidates=len(_candidates(trace)),
        above_threshold=len(trace.above_threshold),
        deduplicated=len(trace.deduplicated),
        ranked=len(retrieval.passages),
        grounded=len(grounding.relevant) if grounding.is_groundable else 0,
    )


def _narrowed(documents: QuerySet[Document], filters: Filters) -> QuerySet[Document]:
    """As the store narrows its chunks (rag.providers.stores.pgvector.filters)."""
    wanted = {
        "tags__overlap": list(filters.tags),
        "source_type__in": filters.source_types,
        "content_type__in": filters.content_types,
        "lang__in": filters.langs,
        "date__gte": filters.date_from,
        "date__lte": filters.date_to,
    }
    return documents.filter(**{name: value for name, value in wanted.items() if value})


def _candidates(trace: SearchTrace) -> set[uuid.UUID]:
    return {*trace.dense, *trace.lexical}


def _shown(retrieval: Retrieval, grounding: Grounding, asked: TraceRequest) -> tuple[TracedPassage, ...]:
    readable = DataSource.objects.visible_to(asked.asker, Action.QUERY).filter(pk__in=retrieval.source_ids)
    texts = set(readable.values_list("pk", flat=True)) if asked.may_read else set()
    relevant = _relevant(grounding)
    return tuple(
        TracedPassage(
            each,
            text=each.text if each.source_id in texts else None,
            counts_for_answer=each.chunk_id in relevant,
        )
        for each in retrieval.passages
    )


def _relevant(grounding: Grounding) -> set[uuid.UUID]:
    return {each.chunk_id for each in grounding.relevant} if grounding.is_groundable else set()


def _fate(document: Document, question: Question, retrieval: Retrieval, grounding: Grounding) -> DocumentOutcome:
    stage, reason = _fallen(document, question, retrieval, grounding)
    if stage:
        return DocumentOutcome(document.pk, False, stage, reason)
    rank = min(each.rank for each in retrieval.passages if each.document_id == document.pk)
    return DocumentOutcome(document.pk, True, STAGES[-1], f"It was found, as number {rank}, and counts for the answer.")


def _fallen(document: Document, question: Question, retrieval: Retrieval, grounding: Grounding) -> tuple[str, str]:
    """The stage at which the last of its chunks fell out, and why; empty if some counts for the answer."""
    if document.source_id not in retrieval.source_ids:
        return "sources", "Its data source is not open to this person, or was not searched."
    if not document.chunk_count:
        return "chunks", "It has no chunks: there is nothing in it to find."
    if not _narrowed(Document.objects.filter(pk=document.pk), question.filters).exists():
        return "chunks", "The question's filters leave it out."
    trace = retrieval.trace
    own = set(Chunk.objects.filter(document=document, pk__in=_candidates(trace)).values_list("pk", flat=True))
    if not own:
        return "candidates", "None of its chunks is among the nearest by meaning or the best by words."
    if not own.intersection(trace.above_threshold):
        return "aboveThreshold", f"None of its chunks has a score of at least {question.min_score:g}."
    if not own.intersection(trace.deduplicated):
        last = max((trace.above_threshold.index(each) for each in trace.deduplicated), default=0)
        best = min(index for index, each in enumerate(trace.above_threshold) if each in own)
        if best < last:
            return "distinct", "Its best chunk repeats what a better one says."
        return "distinct", f"Its best chunk is candidate {best + 1}, behind those that are looked at more closely."
    if not own.intersection(each.chunk_id for each in retrieval.passages):
        place = min(index for index, each in enumerate(trace.ranked, start=1) if each in own)
        return "ranked", f"In the last order its best chunk is number {place}, and {question.top_k} were asked for."
    if not own & _relevant(grounding):
        return "grounded", "It was found, but is not held to carry an answer."
    return "", ""
