"""Step: question and passages -> an answer without a language model, quoted from the best sentences."""

from collections.abc import Callable, Sequence

from rag.text import citation_markers
from rag.text.units import TextUnit, UnitKind, split_units
from rag.text.words import content_words, query_language
from rag.types import Citation, Passage

from .quote_candidates import LEAD_IN_ENDINGS, QuoteCandidate, find_quote_candidates
from .quote_selection import MAX_SENTENCE_CHARACTERS, select_candidates
from .sentence_similarity import MAX_PASSAGES, SentenceSimilarity

EXTRACTIVE_MODEL = "extractive"
# How many list items, rows or lines of code are quoted after a lead-in such as "These are needed:".
_MAX_LISTED_UNITS = 10
_LISTED_KINDS = (UnitKind.ITEM, UnitKind.ROW, UnitKind.CODE)

# Renders the citation of a quoted sentence from its passage's number (from 1) and its passage.
CitationFormatter = Callable[[int, Passage], str]


def extract_quotes(
    query: str, passages: Sequence[Passage], similarity: SentenceSimilarity | None = None
) -> list[Citation]:
    """Quote the sentences that answer the question best.

    Args:
        query: The question.
        passages: The numbered passages of the prompt, best first. Only the best ones are quoted.
        similarity: The similarity of the passages' sentences to the question; without it, words alone decide.

    Returns:
        Quotes in reading order. A row is preceded by its table's header, a lead-in is followed by its list.
    """
    quotable = passages[:MAX_PASSAGES]
    question_words = content_words(query, query_language(query, [passage.lang for passage in quotable]))
    units_of = [split_units(passage.text, passage.lang) for passage in quotable]
    candidates = [
        candidate
        for number, (passage, units) in enumerate(zip(quotable, units_of, strict=True), start=1)
        for candidate in find_quote_candidates(number, passage, units, question_words)
    ]
    answers = [candidate for candidate in candidates if not candidate.is_lead_in(passages)]
    selected = select_candidates(answers or candidates, passages, similarity or SentenceSimilarity())
    spans = set()
    for candidate in selected:
        number = candidate.passage_number
        text = passages[number - 1].text
        for index, unit in _with_related_units(candidate, units_of[number - 1], text):
            spans.add((number, index, unit.start, _quote_end(text, unit)))
    return [_citation(number, passages[number - 1], start, end) for number, _, start, end in sorted(spans)]


def render_quotes(quotes: Sequence[Citation], format_citation: CitationFormatter | None = None) -> str:
    """Join quotes into one text, each followed by its citation: `A sentence. [1]`.

    Rows, items and code are on lines of their own. Bracketed numbers inside a quote are written (3), because [3] would
    be a citation.
    """
    text = ""
    for quote in quotes:
        rendered = citation_markers.neutralize_in_quote(quote.quote)
        if format_citation:
            rendered += f" {format_citation(quote.number, quote.passage)}"
        is_block = quote.quote.startswith(("|", "-", "*", "+", "•")) or "\n" in text or "\t" in quote.quote
        text += ("\n" if is_block else " ") + rendered if text else rendered
    return text


def _with_related_units(
    candidate: QuoteCandidate, units: Sequence[TextUnit], passage_text: str
) -> list[tuple[int, TextUnit]]:
    """Return the candidate with its index; for a row also its table's header, for a lead-in also its list."""
    related = {candidate.unit_index: candidate.unit}
    if candidate.unit.kind is UnitKind.ROW:
        header = next(index for index, unit in enumerate(units) if unit.block == candidate.unit.block)
        if units[header].kind is UnitKind.ROW:
            related[header] = units[header]
    if passage_text[candidate.unit.start : candidate.unit.end].endswith(LEAD_IN_ENDINGS):
        remaining_characters = MAX_SENTENCE_CHARACTERS
        first = candidate.unit_index + 1
        for index, unit in enumerate(units[first : first + _MAX_LISTED_UNITS], start=first):
            remaining_characters -= unit.end - unit.start
            is_listed = unit.kind in _LISTED_KINDS and unit.kind is units[first].kind
            if not is_listed or remaining_characters < 0:
                break
            related[index] = unit
    return sorted(related.items())


def _quote_end(text: str, unit: TextUnit) -> int:
    """Return where a quote of the unit ends: a very long sentence is cut between two words, a row or code is not."""
    max_end = unit.start + MAX_SENTENCE_CHARACTERS
    if unit.end <= max_end or unit.kind in (UnitKind.ROW, UnitKind.CODE):
        return unit.end
    shortened = text[unit.start : max_end]
    return unit.start + (len(shortened.rsplit(None, 1)[0]) or max_end)


def _citation(number: int, passage: Passage, start: int, end: int) -> Citation:
    return Citation(number, passage, passage.text[start:end], passage.start + start, passage.start + end)
