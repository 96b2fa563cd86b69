"""The fields of a question and its answer (pipeline contract, sub-contracts 2 to 5)."""

from typing import TypedDict

from rag.contracts.common import fields
from rag.pipeline.answering.prompt import DEFAULT_PROMPT_TOKENS, MAX_PROMPT_TOKENS
from rag.types import AnswerOptions, AnswerResult, Citation, GenerationOptions, Passage
from ragsite.http.openapi.field_types import Count, Id, Share
from ragsite.http.strict_fields import ValidatedFields

from .retrieve_serializers import PassageOut, RetrieveIn, RetrieveOut, passage_out, retrieval_out

MAX_TEMPLATE_CHARACTERS = 20_000


class QueryIn(RetrieveIn):
    maxTokens = fields.Integer("maxTokens", min_value=64, max_value=MAX_PROMPT_TOKENS, required=False)
    template = fields.Text("template", required=False, max_length=MAX_TEMPLATE_CHARACTERS)
    strictMode = fields.Boolean("strictMode", default=False)
    model = fields.Text("model", required=False, max_length=200)
    temperature = fields.Number("temperature", min_value=0.0, max_value=2.0, required=False)
    stream = fields.Boolean("stream", default=False)


class CitationOut(TypedDict):
    """`number`: as in the prompt and the answer, [1]. `start` and `end`: character offsets of `quote` in the document's
    text. `page` and `lastPage`: the pages of the quote, if the document has pages. `passageStart` and `passageEnd`:
    character offsets of the whole passage. `score` and `chunkId`: of the passage's best chunk."""

    number: Count
    chunkId: Id
    documentId: Id
    dataSourceId: Id
    title: str
    path: str
    uri: str | None
    quote: str
    score: Share
    start: Count
    end: Count
    page: int | None
    lastPage: int | None
    passageStart: Count
    passageEnd: Count


class QueryOut(RetrieveOut):
    """`citationsUsed`: one for each cited sentence and passage. `citationsDropped`: citation numbers removed from the
    language model's answer because the passage does not exist or does not support the sentence.
    `unsupportedSentences`: those sentences."""

    prompt: str
    includedDocs: Count
    tokenCount: Count
    citations: list[CitationOut]
    isGroundable: bool
    groundingScore: Share
    relevantDocs: list[PassageOut]
    gaps: list[str]
    answer: str
    citationsUsed: list[CitationOut]
    confidence: Share
    model: str | None
    citationsDropped: Count
    unsupportedSentences: list[str]


def build_answer_options(values: ValidatedFields) -> AnswerOptions:
    return AnswerOptions(
        max_prompt_tokens=values.get("maxTokens", DEFAULT_PROMPT_TOKENS),
        template=values.get("template", ""),
        strict=values["strictMode"],
        generation=GenerationOptions(values.get("model", ""), values.get("temperature"), values["stream"]),
    )


def query_out(answered: AnswerResult) -> QueryOut:
    context, grounding, answer = answered.context, answered.grounding, answered.answer
    retrieval = retrieval_out(answered.retrieval)
    return {
        **retrieval,
        "warnings": [*retrieval["warnings"], *answer.warnings],
        "prompt": context.prompt,
        "includedDocs": len(context.numbered_passages),
        "tokenCount": context.token_count,
        "citations": [
            _available_citation(number, passage) for number, passage in enumerate(context.numbered_passages, start=1)
        ],
        "isGroundable": grounding.is_groundable,
        "groundingScore": grounding.score,
        "relevantDocs": [passage_out(passage) for passage in grounding.relevant],
        "gaps": list(grounding.gaps),
        "answer": answer.text,
        "citationsUsed": [_citation_out(citation) for citation in answer.citations],
        "confidence": answer.confidence,
        "model": answer.model or None,
        "citationsDropped": answer.citations_dropped,
        "unsupportedSentences": list(answer.unsupported_sentences),
    }


def _available_citation(number: int, passage: Passage) -> CitationOut:
    """Render a passage of the prompt as a citation of its snippet."""
    quote_end = passage.start + len(passage.snippet)
    pages = passage.pages_between(passage.start, quote_end) or (passage.first_page, passage.last_page)
    return _citation_out(Citation(number, passage, passage.snippet, passage.start, quote_end, pages))


def _citation_out(citation: Citation) -> CitationOut:
    passage: Passage = citation.passage
    first_page, last_page = citation.pages
    return {
        "number": citation.number,
        "chunkId": str(passage.chunk_id),
        "documentId": str(passage.document_id),
        "dataSourceId": str(passage.source_id),
        "title": passage.title,
        "path": passage.path,
        "uri": passage.uri or None,
        "quote": citation.quote,
        "score": passage.score,
        "start": citation.start,
        "end": citation.end,
        "page": first_page,
        "lastPage": last_page,
        "passageStart": passage.start,
        "passageEnd": passage.end,
    }
