"""Questions about the difference between two things: the answer says something about both."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.parts.neighbouring_parts import readable_parts, section_beginning
from rag.pipeline.answering.extractive.parts.tables import split_cells
from rag.pipeline.answering.extractive.scores.answer_candidates import QuoteCandidate
from rag.text.markup.titles.faq_questions import QUESTION_ENDINGS
from rag.text.sentences.quotable_units import UnitKind
from rag.text.words import content_words, is_function_word, split_words, stem, stems_among

# A heading with more words is about something else, too: "Why is the time in the archive's statistics wrong?"
_MAX_HEADING_WORDS = 4
# How much is quoted about each of the two subjects, and how many first words of a part may be before one.
_MAX_SIDE, _MAX_WORDS_BEFORE = 400, 1

# The parts that are quoted, by the number of their passage, and the best one of them.
Comparison = tuple[dict[int, set[int]], tuple[int, int]]


def names_both(text: str, subjects: tuple[str, ...], lang: str) -> bool:
    """Return whether a text names both subjects."""
    return all(_names(text, subject, other, lang) for subject, other in (subjects, subjects[::-1]))


@dataclass(frozen=True, slots=True)
class _Place:
    """A part that is about one of the two subjects, with the number of its passage and what is quoted with it."""

    passage_number: int
    index: int
    parts: frozenset[int]

    def is_at(self, other: "_Place") -> bool:
        """Return whether both are the same part."""
        return (self.passage_number, self.index) == (other.passage_number, other.index)


def select_comparison(
    subjects: tuple[str, ...],
    structures: Sequence[PassageStructure],
    candidates: Sequence[QuoteCandidate],
    scores: Sequence[float],
) -> Comparison | None:
    """Select what says something about both subjects.

    These are the beginnings of the sections that are named after them, or the parts that begin with them: those in the
    passage that the search ranks higher. Without both, it is the best paragraph that names both.

    Args:
        subjects: The two things that the question compares.
        structures: The structures of the numbered passages.
        candidates: The parts that can be quoted.
        scores: The scores of the candidates as answers to the question.

    Returns:
        The selected parts; None if the passages have none about both.
    """
    order = sorted(range(len(candidates)), key=lambda position: (-scores[position], position))
    best_first = [candidates[position] for position in order]
    sections = [_find_section(subject, other, structures) for subject, other in (subjects, subjects[::-1])]
    explained = [
        _find_explanation(subject, other, structures, best_first) for subject, other in (subjects, subjects[::-1])
    ]
    pairs = [(one, other) for one, other in (sections, explained) if one and other and not one.is_at(other)]
    if pairs:
        one, other = min(pairs, key=lambda pair: min(place.passage_number for place in pair))
        selected: dict[int, set[int]] = {}
        for place in (one, other):
            selected.setdefault(place.passage_number, set()).update(place.parts)
        return selected, (one.passage_number, one.index)
    for candidate in best_first:
        structure = structures[candidate.passage_number - 1]
        is_row = structure.parts[candidate.index].kind is UnitKind.ROW
        group = [candidate.index] if is_row else structure.group_of(candidate.index)
        text = " ".join(structure.text(part) for part in group)
        if names_both(text, subjects, structure.passage.lang):
            parts = readable_parts(structure, group) | structure.complete(candidate.index)
            return {candidate.passage_number: parts}, (candidate.passage_number, candidate.index)
    return None


def _stems(subject: str, other: str, lang: str) -> frozenset[str]:
    """Return the stems that only one of the subjects has: of "simple and strict mode", the first one has "simple"."""
    both = [{stem(word, lang) for word in content_words(side, lang)} for side in (subject, other)]
    return frozenset(both[0] - both[1])


def _names(text: str, subject: str, other: str, lang: str) -> bool:
    """Return whether a text has all words of a subject."""
    stems = _stems(subject, other, lang)
    return bool(stems) and len(stems_among(text, stems, lang)) == len(stems)


def _is_about(heading: str, subject: str, other: str, lang: str) -> bool:
    """Return whether a short heading names a subject, and not the other one."""
    words = [word for word in split_words(heading, lang) if not is_function_word(word, lang)]
    is_name = len(words) <= _MAX_HEADING_WORDS and not heading.rstrip(" #=*_").endswith(QUESTION_ENDINGS)
    return is_name and _names(heading, subject, other, lang) and not _names(heading, other, subject, lang)


def _find_section(subject: str, other: str, structures: Sequence[PassageStructure]) -> _Place | None:
    """Return the beginning of the first section that is named after a subject."""
    for number, structure in enumerate(structures, start=1):
        passage = structure.passage
        for index in range(len(structure.parts)):
            is_section = structure.is_heading(index) and _is_about(
                structure.visible_text(index), subject, other, passage.lang
            )
            parts = section_beginning(structure, index, _MAX_SIDE) if is_section else set[int]()
            if parts:
                return _Place(number, min(parts), frozenset(parts))
        first = structure.sections[0][:1]
        if first and _is_about(next(iter(passage.headings[-1:]), passage.title), subject, other, passage.lang):
            parts = readable_parts(structure, first[0])
            if parts:
                return _Place(number, min(parts), frozenset(parts))
    return None


def _find_explanation(
    subject: str, other: str, structures: Sequence[PassageStructure], best_first: Sequence[QuoteCandidate]
) -> _Place | None:
    """Return the best part that begins with a subject: "A page is …", "- **Page**: …"."""
    for candidate in best_first:
        structure = structures[candidate.passage_number - 1]
        lang = structure.passage.lang
        text = structure.text(candidate.index)
        start = split_cells(text)[0] if structure.parts[candidate.index].kind is UnitKind.ROW else text
        sought = _stems(subject, other, lang)
        words = [stem(word, lang) for word in split_words(start[:_MAX_SIDE], lang)]
        first = words[: len(sought) + _MAX_WORDS_BEFORE]
        if sought and sought <= set(first):
            return _Place(candidate.passage_number, candidate.index, frozenset(structure.complete(candidate.index)))
    return None
