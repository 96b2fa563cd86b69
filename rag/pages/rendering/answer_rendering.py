"""How pages show an answer: its text with links to the cited passages, and its quality in plain words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.template.loader import render_to_string
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from rag.models import ConversationMessage
from rag.services.evaluation.record_unanswered import LOW_CONFIDENCE
from rag.services.search.stored_answers import ReadableAnswer
from rag.text.citation_markers import find_markers, parse_numbers

from .cited_passages import Reference, list_cited_passages
from .inline_marks import Segment, split_marks
from .markdown_blocks import BlockKind, divide

_NOTES = {
    "SPELLING_CORRECTED": _("A misspelled word of your question was replaced by one that the documents have."),
    "UNDER_FILLED": _("There may be more passages: many of those that were compared repeat each other."),
    "LANGUAGE_PENDING": _("The documents are being prepared for this language. A few minutes later, more is found."),
    "RERANK_FAILED": _("The passages could not be put into their best order, so better ones may be missing."),
    "EMBEDDING_FAILED": _("The search by meaning was not available, so only passages with the same words were found."),
    "GROUNDING_FAILED": _("The language model could not check whether the passages suffice; a simpler check was used."),
    "CONTEXT_IGNORED": _("The language model answered without the passages. Its answer is not shown."),
    "CITATIONS_DROPPED": _("Some citations were removed, because the cited passages do not support the sentences."),
}
# From this confidence on, in descending order: the level, and what it means.
_LEVELS = (
    (0.8, "high", _("High confidence"), _("The passages very probably contain this answer.")),
    (
        LOW_CONFIDENCE,
        "medium",
        _("Medium confidence"),
        _("The passages probably contain this answer. Check the citations."),
    ),
    (0.0, "low", _("Low confidence"), _("The passages may not contain this answer. Check the citations.")),
)
_UNKNOWN_LEVEL = (
    0.0,
    "unknown",
    _("Confidence unknown"),
    _("How often such answers are right was not measured for this language or embedding model. Check the citations."),
)


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
    """The values for the template of an answer."""

    answer: ReadableAnswer
    blocks: tuple[ShownBlock, ...]
    references: tuple[Reference, ...]
    level: str
    level_name: str
    level_text: str
    percent: int | None
    gaps: tuple[str, ...]
    notes: tuple[str, ...]


def show_answer(answer: ReadableAnswer) -> AnswerContext:
    """Prepare an answer for its template."""
    level = next(entry for entry in _LEVELS if answer.confidence >= entry[0])
    if "CONFIDENCE_UNKNOWN" in answer.warnings:
        level = _UNKNOWN_LEVEL
    _threshold, name, title, text = level if answer.citations else (0.0, "none", _("No answer"), "")
    references = tuple(list_cited_passages(answer.citations))
    return AnswerContext(
        answer=answer,
        blocks=show_blocks(answer.text, references),
        references=references,
        level=name,
        level_name=str(title),
        level_text=str(text),
        percent=None if level is _UNKNOWN_LEVEL else round(answer.confidence * 100),
        # A passage may answer in other words.
        gaps=() if name == "high" else answer.gaps,
        notes=tuple(str(_NOTES[code]) for code in dict.fromkeys(answer.warnings) if code in _NOTES),
    )


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


def show_blocks(text: str, references: Sequence[Reference] = ()) -> tuple[ShownBlock, ...]:
    """Prepare the text of an answer for its template. Numbers without a reference stay as they are."""
    by_number = {reference.citation.number: reference for reference in reversed(references)}
    return tuple(
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


def _segments(text: str, kind: BlockKind, by_number: Mapping[int, Reference]) -> Iterator[Segment]:
    """Split a text at its citation markers, its code and what is emphasised."""
    if kind == BlockKind.CODE:
        yield Segment(text, is_code=True)
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
