"""Explains why a search did or did not return a document: the stage that removed it, and the reason."""

import uuid
from dataclasses import dataclass

from django.utils.translation import gettext

from rag.models import Chunk, Document
from rag.types import Grounding, Question, Retrieval, SearchTrace

STAGES = ("sources", "chunks", "candidates", "aboveThreshold", "distinct", "ranked", "grounded")


@dataclass(frozen=True, slots=True)
class DocumentExplanation:
    """Whether a search has found a document, and why.

    Attributes:
        is_relevant: Whether a chunk of the document is relevant enough to answer the question from.
        stage: The stage that removed its last chunk; the last stage if a chunk is relevant.
        reason: A sentence for people.
    """

    document_id: uuid.UUID
    is_relevant: bool
    stage: str
    reason: str


def explain_document(
    document: Document, question: Question, retrieval: Retrieval, grounding: Grounding
) -> DocumentExplanation:
    """Explain what a search that has ended did with the document."""
    stage, reason = _excluded_at(document, question, retrieval, grounding)
    if stage:
        return DocumentExplanation(document.pk, is_relevant=False, stage=stage, reason=reason)
    answer_ids = relevant_ids(grounding)
    rank = min(
        passage.rank
        for passage in retrieval.passages
        if passage.document_id == document.pk and passage.chunk_id in answer_ids
    )
    reason = gettext("Its best relevant chunk has rank {rank}.").format(rank=rank)
    return DocumentExplanation(document.pk, is_relevant=True, stage=STAGES[-1], reason=reason)


def candidate_ids(trace: SearchTrace) -> set[uuid.UUID]:
    """Return the chunks that the vector search or the term search found."""
    return {*trace.dense, *trace.lexical}


def relevant_ids(grounding: Grounding) -> set[uuid.UUID]:
    """Return the chunks that are relevant enough to answer the question from."""
    return {passage.chunk_id for passage in grounding.relevant} if grounding.is_groundable else set()


def _excluded_at(document: Document, question: Question, retrieval: Retrieval, grounding: Grounding) -> tuple[str, str]:
    """Return the stage that removed the document's last chunk, and the reason; both empty if a chunk remained."""
    if document.source_id not in retrieval.source_ids.ids:
        return "sources", gettext(
            "Its data source was not searched. Only sources that you and the user may query are searched."
        )
    if not document.chunk_count:
        return "chunks", gettext("It has no chunks, so there is nothing to find.")
    if not Document.objects.matching(question.filters).filter(pk=document.pk).exists():
        return "chunks", gettext("It does not match the filters.")
    trace = retrieval.trace
    candidates = Chunk.objects.filter(document=document, pk__in=candidate_ids(trace))
    chunk_ids = set(candidates.values_list("pk", flat=True))
    if not chunk_ids:
        return "candidates", gettext(
            "None of its chunks is among the best candidates of the vector search or the word search."
        )
    if not chunk_ids.intersection(trace.above_threshold):
        return "aboveThreshold", gettext("None of its chunks has a score of at least {score:g}.").format(
            score=question.min_score
        )
    if not chunk_ids.intersection(trace.deduplicated):
        return "distinct", _deduplication_reason(chunk_ids, trace)
    if not chunk_ids.intersection(passage.chunk_id for passage in retrieval.passages):
        rank = min(index for index, chunk_id in enumerate(trace.ranked, start=1) if chunk_id in chunk_ids)
        text = gettext("Its best chunk has rank {rank} after ranking; the search returns {top_k}.")
        return "ranked", text.format(rank=rank, top_k=question.top_k)
    if not chunk_ids & relevant_ids(grounding):
        return "grounded", gettext(
            "Chunks of it are in the results, but none is relevant enough to answer the question from."
        )
    return "", ""


def _deduplication_reason(chunk_ids: set[uuid.UUID], trace: SearchTrace) -> str:
    """Return why deduplication removed the chunks: as copies, or because enough better candidates were left."""
    last = max((trace.above_threshold.index(chunk_id) for chunk_id in trace.deduplicated), default=0)
    best = min(index for index, chunk_id in enumerate(trace.above_threshold) if chunk_id in chunk_ids)
    if best < last:
        return gettext("Its best chunk repeats the text of a better one.")
    return gettext("Its best chunk is candidate {rank}; only better candidates are ranked.").format(rank=best + 1)
