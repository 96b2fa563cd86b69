"""What a part of a passage is about: the term that it begins with, or the first cell of a table's row."""

from collections.abc import Sequence

from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.parts.tables import split_cells
from rag.pipeline.answering.extractive.question.question_type import find_short_tokens
from rag.text.sentences.quotable_units import UnitKind
from rag.text.words import content_words, split_words, stem

from .answer_candidates import QuoteCandidate

# The term is among this many first words: "The _content_ of a document is ..." is not a definition of a document.
_MAX_WORDS_BEFORE_TERM = 1
_MAX_SUBJECT_CHARACTERS = 120


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

    Args:
        structures: The structures of the numbered passages.
        candidate: The part.
        short_tokens: The question's single letters and numbers. It must have those of the cell, too: "AquaPur S".
    """
    structure = structures[candidate.passage_number - 1]
    if structure.parts[candidate.index].kind is not UnitKind.ROW:
        return False
    cell, lang = split_cells(structure.text(candidate.index))[0][:_MAX_SUBJECT_CHARACTERS], structure.passage.lang
    subject = {stem(word, lang) for word in content_words(cell, lang)}
    return bool(subject) and subject <= candidate.stems and find_short_tokens(cell) <= short_tokens
