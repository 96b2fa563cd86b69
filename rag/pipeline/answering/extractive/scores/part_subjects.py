"""What a part of a passage is about: the term that it begins with, the first cell of a table's row, or a code."""

from collections.abc import Sequence

from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.parts.tables import split_cells
from rag.pipeline.answering.extractive.question.question_type import find_codes, find_short_tokens
from rag.text.sentences.quotable_units import UnitKind
from rag.text.words import content_words, split_words, stem

from .answer_candidates import QuoteCandidate

# The term is among this many first words: "The _content_ of a document is ..." is not a definition of a document.
_MAX_WORDS_BEFORE_TERM = 1
_MAX_SUBJECT_CHARACTERS = 120
# A code that more parts have does not tell them apart.
_MAX_SHARE_WITH_CODE = 0.25


def begins_with_term(structures: Sequence[PassageStructure], candidate: QuoteCandidate, term: str) -> bool:
    """Return whether a part begins with a term, after an article at most, or a row with a cell of the term's words."""
    structure = structures[candidate.passage_number - 1]
    lang = structure.passage.lang
    sought = [stem(word, lang) for word in split_words(term, lang)]
    if structure.parts[candidate.index].kind is UnitKind.ROW:  # "What does the status sent mean?"
        cell = split_cells(structure.text(candidate.index)[:_MAX_SUBJECT_CHARACTERS])[0]
        cell_stems = {stem(word, lang) for word in split_words(cell, lang)}
        return bool(cell_stems) and cell_stems <= set(sought)
    words = split_words(structure.text(candidate.index)[:_MAX_SUBJECT_CHARACTERS], lang)
    first_stems = [stem(word, lang) for word in words]
    return any(first_stems[skip : skip + len(sought)] == sought for skip in range(_MAX_WORDS_BEFORE_TERM + 1)) and bool(
        sought
    )


def names_row(structures: Sequence[PassageStructure], candidate: QuoteCandidate, short_tokens: frozenset[str]) -> bool:
    """Return whether a part is a table's row and the question has all content words of its first cell.

    If that is a number or a range, the words of the first cell with letters are enough: "27-30 | Safari tent".

    Args:
        structures: The structures of the numbered passages.
        candidate: The part.
        short_tokens: The question's single letters and numbers. It must have those of the cell, too: "AquaPur S".
    """
    structure = structures[candidate.passage_number - 1]
    if structure.parts[candidate.index].kind is not UnitKind.ROW:
        return False
    cells = [cell[:_MAX_SUBJECT_CHARACTERS] for cell in split_cells(structure.text(candidate.index))]
    names = {cells[0], next((cell for cell in cells if any(map(str.isalpha, cell))), "")}
    lang = structure.passage.lang

    def is_named(cell: str) -> bool:
        subject = {stem(word, lang) for word in content_words(cell, lang)}
        return bool(subject) and subject <= candidate.stems and find_short_tokens(cell) <= short_tokens

    return any(map(is_named, names))


def find_rarest_code(
    candidates: Sequence[QuoteCandidate], structures: Sequence[PassageStructure], codes: Sequence[str]
) -> set[tuple[int, int]]:
    """Return the passage numbers and indexes of the parts with the question's rarest code; none if many parts have it.

    Of these only those with most of its other codes are returned: the E03 of the controller C1, not that of the C2. A
    part also has the codes of the headings above it. Codes differ in a sign ("E-12", "E-31") that similarities hardly
    see, and consist of words that other parts have.
    """
    parts_by_code: dict[str, set[tuple[int, int]]] = {code: set() for code in codes}
    for candidate in candidates if codes else ():
        structure = structures[candidate.passage_number - 1]
        heading = structure.heading_index(candidate.index)
        above = [structure.passage.title, *structure.passage.headings]
        inner = "" if heading is None else structure.visible_text(heading)
        for code in find_codes("\n".join([*above, inner, structure.text(candidate.index)])):
            if code in parts_by_code:
                parts_by_code[code].add((candidate.passage_number, candidate.index))
    rarest = min((parts for parts in parts_by_code.values() if parts), key=len, default=set())
    if len(rarest) > max(1.0, _MAX_SHARE_WITH_CODE * len(candidates)):
        return set()
    counts = {part: sum(part in parts for parts in parts_by_code.values()) for part in rarest}
    return {part for part, count in counts.items() if count == max(counts.values())}
