"""What a stored answer is based on: ids and offsets only.

Texts are read when the answer is shown again, if its reader may query the sources then.
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from orgs.access.caller import Caller
from rag.models import Action, Chunk, ConversationMessage, DataSource
from rag.services.evaluation.record_unanswered import SearchDetails
from rag.types import AnswerResult, Citation, Passage

_MAX_CITATIONS = 100
_MAX_GAPS = 20


class StoredCitation(TypedDict):
    """A citation as it is stored: offsets in the document's text, and pages from 1."""

    number: int
    chunk: str
    start: int
    end: int
    page: int | None
    lastPage: int | None


class AnswerDetails(TypedDict, total=False):
    """What is stored with an answer (`ConversationMessage.details`). Earlier versions stored less."""

    citations: list[StoredCitation]
    sources: list[str]
    confidence: float
    model: str
    warnings: list[str]
    gaps: list[str]
    dropped: int
    unsupported: list[str]
    searched: str
    search: SearchDetails


@dataclass(frozen=True, slots=True)
class CitedPassage:
    """A citation of an answer, as its reader may see it now.

    Attributes:
        number: The citation's number in the answer.
        document_id: The document. None if the passage does not exist any more.
        quote: The quoted text; empty if the passage does not exist any more.
        start: Character offset of the quote in the document's text.
        end: Character offset of the quote's end, exclusive.
        first_page: The page of the first character, from 1; None for formats without pages.
        last_page: The page of the last character.
    """

    number: int
    document_id: uuid.UUID | None
    chunk_id: uuid.UUID
    title: str
    path: str
    source_name: str
    quote: str
    start: int
    end: int
    first_page: int | None
    last_page: int | None


@dataclass(frozen=True, slots=True)
class ReadableAnswer:
    """An answer with what it is based on.

    Attributes:
        message: The stored message; None if the answer is not stored.
        is_withheld: Whether the reader may no longer query a source that the answer uses. Its text is empty then.
        searched_text: The question as it was searched, if it differs from what was asked.
    """

    text: str
    citations: tuple[CitedPassage, ...]
    confidence: float
    model: str
    warnings: tuple[str, ...]
    gaps: tuple[str, ...]
    citations_dropped: int
    unsupported_sentences: tuple[str, ...]
    searched_text: str = ""
    message: ConversationMessage | None = None
    is_withheld: bool = False


def describe_answer(result: AnswerResult, *, searched_text: str = "") -> AnswerDetails:
    """Return what is stored with an answer.

    Args:
        result: The answer.
        searched_text: The question as it was searched, if it differs from what was asked.
    """
    answer = result.answer
    # Who declines a question quotes what comes closest, and says what none of the found passages mentions.
    passages = result.context.numbered_passages if answer.model else result.retrieval.passages
    return {
        "citations": [_describe_citation(citation) for citation in answer.citations[:_MAX_CITATIONS]],
        "sources": list_sources(passages),
        "confidence": answer.confidence,
        "model": answer.model,
        "warnings": [*result.retrieval.warnings, *answer.warnings],
        "gaps": list(result.grounding.gaps[:_MAX_GAPS]),
        "dropped": answer.citations_dropped,
        "unsupported": list(answer.unsupported_sentences[:_MAX_GAPS]),
        "searched": searched_text,
    }


def list_sources(passages: Iterable[Passage]) -> list[str]:
    """Return the ids of the sources of passages that an answer uses, as they are stored with it."""
    return sorted({str(passage.source_id) for passage in passages})


def _describe_citation(citation: Citation) -> StoredCitation:
    first_page, last_page = citation.pages
    return {
        "number": citation.number,
        "chunk": str(citation.passage.chunk_id),
        "start": citation.start,
        "end": citation.end,
        "page": first_page,
        "lastPage": last_page,
    }


def read_answers(
    caller: Caller, answers: Iterable[tuple[str, AnswerDetails, ConversationMessage | None]]
) -> list[ReadableAnswer]:
    """Return answers with the passages that they cite and that the caller may query now.

    Args:
        caller: The caller, whose permissions apply.
        answers: The text and the details of each answer, and its stored message if there is one.
    """
    answers = list(answers)
    visible_ids = _visible_source_ids(caller, [details for _, details, _ in answers])
    chunk_ids = {entry["chunk"] for _, details, _ in answers for entry in details.get("citations", ())}
    chunks = Chunk.objects.visible_to(caller, Action.QUERY).filter(pk__in=chunk_ids, document__deleted_at=None)
    chunks = chunks.select_related("document", "source").defer("document__text", "document__line_boxes")
    by_id = {str(chunk.pk): chunk for chunk in chunks} if chunk_ids else {}
    return [_withhold_if_hidden(text, details, message, visible_ids, by_id) for text, details, message in answers]


def read_messages(caller: Caller, messages: Sequence[ConversationMessage]) -> list[ReadableAnswer]:
    """Return stored messages as answers; those of a user are based on nothing, and never withheld."""
    return read_answers(caller, [(message.content, _details(message), message) for message in messages])


def readable_messages(caller: Caller, messages: Sequence[ConversationMessage]) -> list[ConversationMessage]:
    """Return the messages without answers that are withheld from the caller. Their texts need not be loaded."""
    visible_ids = _visible_source_ids(caller, [_details(message) for message in messages])
    return [message for message in messages if not _is_withheld(_details(message), visible_ids)]


def _details(message: ConversationMessage) -> AnswerDetails:
    details: AnswerDetails | None = message.details
    return details or {}


def _visible_source_ids(caller: Caller, details: Iterable[AnswerDetails]) -> set[str]:
    """Return the ids of those sources of stored answers that the caller may query now."""
    source_ids = {source for answer in details for source in answer.get("sources", ())}
    if not source_ids:
        return set()
    sources = DataSource.objects.visible_to(caller, Action.QUERY).filter(pk__in=source_ids)
    return {str(pk) for pk in sources.values_list("pk", flat=True)}


def _withhold_if_hidden(
    text: str,
    details: AnswerDetails,
    message: ConversationMessage | None,
    visible_ids: set[str],
    chunks: Mapping[str, Chunk],
) -> ReadableAnswer:
    """Return the answer; without text and citations unless all of its data sources are visible."""
    is_withheld = _is_withheld(details, visible_ids)
    citations = [] if is_withheld else details.get("citations", [])
    return ReadableAnswer(
        text="" if is_withheld else text,
        citations=tuple(_read_citation(entry, chunks.get(entry["chunk"])) for entry in citations),
        confidence=details.get("confidence", 0.0),
        model=details.get("model", ""),
        warnings=tuple(details.get("warnings", ())),
        gaps=() if is_withheld else tuple(details.get("gaps", ())),
        citations_dropped=details.get("dropped", 0),
        unsupported_sentences=() if is_withheld else tuple(details.get("unsupported", ())),
        # A rewritten question repeats what earlier answers said.
        searched_text="" if is_withheld else details.get("searched", ""),
        message=message,
        is_withheld=is_withheld,
    )


def _is_withheld(details: AnswerDetails, visible_ids: set[str]) -> bool:
    """Return whether a data source of the answer is not visible.

    Questions that earlier versions declined do not name the sources that they quote, so these answers are withheld.
    """
    source_ids = details.get("sources", ())
    return not visible_ids.issuperset(source_ids) or ("citations" in details and not source_ids)


def _read_citation(entry: StoredCitation, chunk: Chunk | None) -> CitedPassage:
    start, end = entry["start"], entry["end"]
    document = chunk.document if chunk else None
    return CitedPassage(
        number=entry["number"],
        document_id=document.pk if document else None,
        chunk_id=uuid.UUID(entry["chunk"]),
        title=(document.title or document.path) if document else "",
        path=document.path if document else "",
        source_name=chunk.source.name if chunk else "",
        quote=chunk.text[max(0, start - chunk.start) : max(0, end - chunk.start)] if chunk else "",
        start=start,
        end=end,
        first_page=entry["page"],
        last_page=entry["lastPage"],
    )
