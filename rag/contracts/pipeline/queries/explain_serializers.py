"""The fields of an explained search (docs/contracts/queries.md)."""

from typing import Annotated, TypedDict

from accounts.models import MAX_EMAIL_CHARACTERS
from rag.contracts.common import fields
from rag.contracts.pipeline.queries.retrieve_serializers import RetrieveIn
from rag.contracts.pipeline.sources.access_explanation_serializers import VerdictOut, verdicts_out
from rag.services.queries.trace.document_explanation import STAGES
from rag.services.queries.trace.search_trace import SearchExplanation, TracedPassage
from ragsite.http import request_warnings
from ragsite.http.openapi.field_types import Count, Id, Share


class ExplainIn(RetrieveIn):
    """`user`: id or e-mail address of the user to search as; default: the caller. `document`: id of a document whose
    outcome is explained."""

    dataSources = fields.BoundedList(
        "dataSources",
        child=fields.Reference("each of dataSources"),
        min_entries=1,
        max_entries=100,
        required=False,
    )
    user = fields.Text("user", max_length=MAX_EMAIL_CHARACTERS, required=False)
    document = fields.Reference("document", required=False)
    minScore = fields.Number("minScore", min_value=0.0, max_value=1.0, default=0.0)


class FunnelOut(TypedDict):
    """How many results each stage left. `candidates`: those of `byMeaning` and `byWords`, without duplicates. `ranked`:
    the first `topK`."""

    sources: Count
    chunks: Count
    byMeaning: Count
    byWords: Count
    candidates: Count
    aboveThreshold: Count
    distinct: Count
    ranked: Count
    grounded: Count


class RankedOut(TypedDict):
    """`score`: cosine similarity. `countsForAnswer`: the passage is relevant enough to answer from."""

    chunkId: Id
    documentId: Id
    dataSourceId: Id
    title: str
    path: str
    text: str
    score: Share
    relevance: Share
    countsForAnswer: bool


class ExplainedDocumentOut(TypedDict):
    """`stage`: the stage that removed the document; the last one if the document is relevant (`isFound`)."""

    documentId: Id
    isFound: bool
    stage: Annotated[str, {"enum": list(STAGES)}]
    reason: str


class NotSearchedOut(TypedDict):
    """A data source that the caller manages and that was not searched. `access`: what the user may do with it."""

    dataSourceId: Id
    callerMayQuery: bool
    access: list[VerdictOut]


class ExplainOut(TypedDict):
    """`dataSources`: the data sources that were searched: the caller manages them, and the caller and the user may
    query them. `notSearched`: at most 20 of the others that the caller manages."""

    isMember: bool
    funnel: FunnelOut
    documents: list[RankedOut]
    document: ExplainedDocumentOut | None
    isGroundable: bool
    groundingScore: Share
    gaps: list[str]
    dataSources: list[Id]
    notSearched: list[NotSearchedOut]
    warnings: list[str]


def explain_out(explained: SearchExplanation) -> ExplainOut:
    counts, document = explained.counts, explained.document
    return {
        "isMember": explained.is_member,
        "funnel": {
            "sources": counts.sources,
            "chunks": counts.chunks,
            "byMeaning": counts.dense,
            "byWords": counts.lexical,
            "candidates": counts.candidates,
            "aboveThreshold": counts.above_threshold,
            "distinct": counts.deduplicated,
            "ranked": counts.ranked,
            "grounded": counts.grounded,
        },
        "documents": [_ranked_out(traced) for traced in explained.passages],
        "document": {
            "documentId": str(document.document_id),
            "isFound": document.is_relevant,
            "stage": document.stage,
            "reason": document.reason,
        }
        if document
        else None,
        "isGroundable": explained.is_groundable,
        "groundingScore": explained.grounding_score,
        "gaps": list(explained.gaps),
        "dataSources": [str(source_id) for source_id in explained.source_ids],
        "notSearched": [
            {
                "dataSourceId": str(source.source_id),
                "callerMayQuery": source.caller_may_query,
                "access": verdicts_out(source.access),
            }
            for source in explained.unsearched
        ],
        "warnings": [*explained.warnings, *request_warnings.collected()],
    }


def _ranked_out(traced: TracedPassage) -> RankedOut:
    passage = traced.passage
    return {
        "chunkId": str(passage.chunk_id),
        "documentId": str(passage.document_id),
        "dataSourceId": str(passage.source_id),
        "title": passage.title,
        "path": passage.path,
        "text": passage.text,
        "score": passage.score,
        "relevance": passage.relevance,
        "countsForAnswer": traced.counts_for_answer,
    }
