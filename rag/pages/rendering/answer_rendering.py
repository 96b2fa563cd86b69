"""How pages show an answer: its text with links to the cited passages, and its quality in plain words."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from rag.models import ConversationMessage
from rag.services.evaluation.record_unanswered import LOW_CONFIDENCE
from rag.services.queries.history.stored_answers import ReadableAnswer
from rag.text.citation_markers import find_markers, parse_numbers

from .answer_blocks import BlockKind, divide
from .cited_passages import Reference, list_cited_passages
from .inline_marks import Segment, code_segment, split_marks

_PENDING = _("The documents are being prepared for this language. A few minutes later, more is found.")
_NOTES = {
    "SPELLING_CORRECTED": _("A misspelled word of your question was replaced by one that the documents have."),
    "UNDER_FILLED": _("There may be more passages: many of those that were compared repeat each other."),
    "LANGUAGE_PENDING": _PENDING,
    "RERANK_FAILED": _("The passages could not be put into their best order, so better ones may be missing."),
    "EMBEDDING_FAILED": _("The search by meaning was not available, so only passages with the same words were found."),
    "GROUNDING_FAILED": _("The language model could not check whether the passages suffice; a simpler check was used."),
    "ENTAILMENT_FAILED": _("The model that checks answers did not respond; only words and numbers were compared."),
    "CONTEXT_IGNORED": _("The language model answered without the passages. Its answer is not shown."),
    "CITATIONS_DROPPED": _("Some citations were removed, because the cited passages do not support the sentences."),
}


@dataclass(frozen=True, slots=True)
class _Level:
    """How far an answer can be trusted, in words.

    Attributes:
        minimum: The lowest confidence of the level.
        has_percent: Whether the confidence is shown as a number, too.
    """

    name: str
    title: Promise
    text: Promise | str
    minimum: float = 0.0
    has_percent: bool = True


_LEVELS = (
    _Level("high", _("High confidence"), _("The passages very probably contain this answer."), minimum=0.8),
    _Level(
        "medium",
        _("Medium confidence"),
        _("The passages probably contain this answer. Check the citations."),
        minimum=LOW_CONFIDENCE,
    ),
    _Level("low", _("Low confidence"), _("The passages may not contain this answer. Check the citations.")),
)
_UNKNOWN_LEVEL = _Level(
    "unknown",
    _("Confidence unknown"),
    _("How often such answers are right was not measured for this language or these models. Check the citations."),
    has_percent=False,
)
_NO_ANSWER_LEVEL = _Level("none", _("No answer"), "")
# The answers of a page have at most this many cells and segments, each of which takes up to 0.1 ms. Answers that a
# client of the chat has stored could have a million.
_MAX_PARTS = 3_000
_PENDING_LEVEL = _Level("none", _("No answer yet"), _PENDING, has_percent=False)


Cells = tuple[tuple[Segment, ...], ...]


@dataclass(frozen=True, slots=True)
class ShownBlock:
    """A paragraph, heading, list, table or piece of code of an answer.

    Attributes:
        entries: The cells of each item or row, and whether the entry is nested below the previous one.
    """

    kind: str
    entries: tuple[tuple[Cells, bool], ...]
    start: int


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """The values for the template of an answer.

    Attributes:
        parts: How many cells and segments its text was divided into.
    """

    answer: ReadableAnswer
    blocks: tuple[ShownBlock, ...]
    parts: int
    references: tuple[Reference, ...]
    level: str
    level_name: str
    level_text: str
    percent: int | None
    gaps: tuple[str, ...]
    notes: tuple[str, ...]


def show_conversation(answers: Sequence[ReadableAnswer | None]) -> list[AnswerContext | None]:
    """Prepare the answers of a conversation, oldest first. If they are very long, older ones show their Markdown."""
    shown: list[AnswerContext | None] = []
    remaining = _MAX_PARTS
    for answer in reversed(answers):
        context = show_answer(answer, max_parts=remaining) if answer else None
        remaining -= context.parts if context else 0
        shown.append(context)
    return shown[::-1]


def show_answer(answer: ReadableAnswer, *, max_parts: int = _MAX_PARTS) -> AnswerContext:
    """Prepare an answer for its template. One that would have more parts shows its Markdown."""
    level = _find_level(answer)
    notes = [_NOTES[code] for code in dict.fromkeys(answer.warnings) if code in _NOTES]
    references = tuple(list_cited_passages(answer.citations))
    divided = _divide(answer.text, references, max_parts)
    return AnswerContext(
        answer=answer,
        blocks=_as_written(answer.text) if divided is None else divided,
        parts=max_parts if divided is None else _count_parts(divided),
        references=references,
        level=level.name,
        level_name=str(level.title),
        level_text=str(level.text),
        percent=round(answer.confidence * 100) if level.has_percent else None,
        # A passage may answer in other words, and quotes are followed by some of the gaps already.
        gaps=() if level.name == "high" else tuple(gap for gap in answer.gaps if not _is_named(gap, answer.text)),
        notes=tuple(str(note) for note in notes if note != level.text),
    )


def _is_named(gap: str, text: str) -> bool:
    """Return whether a text has these words, not as parts of others."""
    return bool(re.search(rf"(?<!\w){re.escape(gap)}(?!\w)", text))


def _find_level(answer: ReadableAnswer) -> _Level:
    if not answer.citations:
        return _PENDING_LEVEL if "LANGUAGE_PENDING" in answer.warnings else _NO_ANSWER_LEVEL
    if "CONFIDENCE_UNKNOWN" in answer.warnings:
        return _UNKNOWN_LEVEL
    return next(level for level in _LEVELS if answer.confidence >= level.minimum)


def render_answer(question: str, answer: ReadableAnswer, *, csrf_token: str, extra: Mapping[str, object]) -> str:
    """Return the HTML of an answer, for the page's script."""
    context = {
        "question": question,
        "part": show_answer(answer),
        "csrf_token": csrf_token,
        "reasons": ConversationMessage.RatingReason.choices,
        **extra,
    }
    return render_to_string("pages/answer.html", context)


def show_blocks(text: str) -> tuple[ShownBlock, ...]:
    """Prepare a text without citations for the template of an answer."""
    divided = _divide(text, (), _MAX_PARTS)
    return _as_written(text) if divided is None else divided


def _divide(text: str, references: Sequence[Reference], max_parts: int) -> tuple[ShownBlock, ...] | None:
    """Divide an answer into its parts; None if they are too many. Numbers without a reference stay as they are."""
    if max_parts <= 0:
        return None
    by_number = {reference.citation.number: reference for reference in reversed(references)}
    blocks = tuple(
        ShownBlock(
            block.kind.value,
            tuple(
                (tuple(tuple(_segments(cell, block.kind, by_number)) for cell in entry.cells), entry.is_nested)
                for entry in block.entries
            ),
            block.start,
        )
        for block in divide(text)
    )
    return blocks if _count_parts(blocks) <= max_parts else None


def _count_parts(blocks: Sequence[ShownBlock]) -> int:
    return sum(1 + len(cell) for block in blocks for cells, _ in block.entries for cell in cells)


def _as_written(text: str) -> tuple[ShownBlock, ...]:
    return (ShownBlock(BlockKind.CODE.value, ((((code_segment(text),),), False),), 1),)


def _segments(text: str, kind: BlockKind, by_number: Mapping[int, Reference]) -> Iterator[Segment]:
    """Split a text at its citation markers, its code and what is emphasised."""
    if kind == BlockKind.CODE:
        yield code_segment(text)
        return
    position = 0
    for start, end in find_markers(text):
        numbers = [number for number in parse_numbers(text[start:end]) if number in by_number]
        if not numbers:
            continue
        yield from split_marks(text[position:start])
        for number in numbers:
            reference = by_number[number]
            label = gettext("Citation {number}").format(number=number)
            label += f": {reference.citation.title}" if reference.url else ""
            yield Segment(str(number), number, reference.url, label)
        position = end
    yield from split_marks(text[position:])
