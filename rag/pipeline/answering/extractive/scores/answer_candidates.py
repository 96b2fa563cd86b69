"""The parts of passages that an extractive answer can quote, and which words of the question they have."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.parts.split_into_parts import ends_with_colon
from rag.text.quantities.numbers import join_thousands
from rag.text.words import stem, stems_among

# A number of more digits may have signs between its thousands.
_MAX_GROUP = 3


@dataclass(frozen=True, slots=True)
class QuoteCandidate:
    """A part of a passage.

    Attributes:
        passage_number: The passage's number in the prompt, from 1.
        index: The part's index in the passage's structure.
        stems: The question's stems that the part contains.
        heading_stems: The question's other stems that the headings above it contain, its lead-in, or the names of the
            columns of a row.
    """

    passage_number: int
    index: int
    stems: frozenset[str]
    heading_stems: frozenset[str]


def find_candidates(structures: Sequence[PassageStructure], question_words: Iterable[str]) -> list[QuoteCandidate]:
    """Return the parts that can be quoted alone, in order; all parts if there are none.

    Args:
        structures: The structures of the numbered passages.
        question_words: The content words of the question.
    """
    words = list(question_words)
    candidates: list[QuoteCandidate] = []
    others: list[QuoteCandidate] = []
    for number, structure in enumerate(structures, start=1):
        for candidate in _candidates(number, structure, words):
            is_candidate = structure.is_quotable(candidate.index) and not structure.needs_missing_part(candidate.index)
            (candidates if is_candidate else others).append(candidate)
    return candidates or others


def _candidates(number: int, structure: PassageStructure, question_words: Sequence[str]) -> list[QuoteCandidate]:
    passage = structure.passage
    question_stems = {stem(word, passage.lang) for word in question_words}
    has_thousands = any(word.isdigit() and len(word) > _MAX_GROUP for word in question_words)

    def stems_in(text: str) -> frozenset[str]:
        return frozenset(stems_among(join_thousands(text) if has_thousands else text, question_stems, passage.lang))

    above = stems_in("\n".join([passage.title, *passage.headings]))
    heading: frozenset[str] = frozenset()
    lead_in: frozenset[str] = frozenset()
    candidates = []
    for index in range(len(structure.parts)):
        text = structure.text(index)
        stems = stems_in(text)
        columns = stems_in("\n".join(structure.header_cells(index)))
        candidates.append(QuoteCandidate(number, index, stems, (above | heading | lead_in | columns) - stems))
        if structure.is_heading(index):
            heading, lead_in = stems, frozenset()
        elif ends_with_colon(text):
            lead_in = stems
    return candidates
