"""Chooses the parts of passages that answer a question best."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.text.words import split_words

from .answer_candidates import QuoteCandidate, find_candidates
from .expected_answers import has_expected
from .passage_parts import QUESTION_ENDINGS
from .question_type import AnalysedQuestion
from .scoring import score_candidates, total, word_weights
from .section_headings import SectionHeading, find_headings
from .self_contained_parts import PassageStructure
from .sentence_similarity import SentenceSimilarity

_MAX_CANDIDATES = 3
# A further candidate scores at most this much less than the best one, in standard deviations.
_MAX_SCORE_DIFFERENCE = 1.0
# Bonus for the words of the question that a further candidate adds, in standard deviations.
_NEW_WORDS_WEIGHT = 2.0
# A candidate that adds at least this share of the question's weighted words is selected whatever its score: it answers
# another part of the question.
_MIN_NEW_WORDS = 1 / 3
# Maximum length of all selected candidates together. The first one is selected whatever its length.
_MAX_TOTAL_CHARACTERS = 400
# From this match on, the beginning of a heading's section is the answer, up to this length.
_MIN_HEADING_MATCH = 0.70
_MAX_SECTION_START_CHARACTERS = 500
# A heading that is a question, in the best passage, needs this much less: the search has chosen its section.
_BEST_PASSAGE_BONUS = 0.12
# But a heading elsewhere that says the same as the question is better than one that has some more words.
_MAX_PREFERRED_MATCH = 0.95
# A candidate that shares this much of its words with a quoted one repeats it.
_MIN_REPEATED_WORDS = 0.8


@dataclass(frozen=True, slots=True)
class Selection:
    """The parts that answer a question.

    Attributes:
        parts: For each passage number the indexes of the selected parts, each with the parts that it needs.
        best: The passage number and the index of the best part; None if the beginning of a section was selected.
    """

    parts: Mapping[int, set[int]]
    best: tuple[int, int] | None = None


def select_parts(
    structures: Sequence[PassageStructure], question: AnalysedQuestion, similarity: SentenceSimilarity
) -> Selection:
    """Select the beginning of the section whose heading matches the question, or else the best parts.

    Args:
        structures: The structures of the numbered passages.
        question: The question.
        similarity: The similarity of the passages' parts to the question; it may have no scores.
    """
    candidates = find_candidates(structures, question.words)
    weights = word_weights(candidates)
    headings = find_headings(structures, question.words, weights, similarity)
    selected: dict[int, set[int]] = {}
    sections = [heading for heading in headings if _accepts_section(heading, structures, question)]
    section = max(sections, key=lambda heading: _section_match(heading, structures, question), default=None)
    if section and _section_match(section, structures, question) >= _MIN_HEADING_MATCH:
        structure = structures[section.passage_number - 1]
        start = structure.section_start(section.index, _MAX_SECTION_START_CHARACTERS)
        if question.expected is None or any(has_expected(structure.text(part), question.expected) for part in start):
            selected[section.passage_number] = set().union(*(structure.complete(index) for index in start))
            return Selection(selected)
    scores = score_candidates(candidates, structures, weights, similarity, headings, question)
    chosen = _select_candidates(candidates, structures, weights, scores)
    for candidate in chosen:
        structure = structures[candidate.passage_number - 1]
        selected.setdefault(candidate.passage_number, set()).update(structure.complete(candidate.index))
    if not chosen:
        return Selection(selected)
    _add_following(selected, structures, chosen[0])
    return Selection(selected, (chosen[0].passage_number, chosen[0].index))


def _accepts_section(
    heading: SectionHeading, structures: Sequence[PassageStructure], question: AnalysedQuestion
) -> bool:
    """Return whether the first part of a section may answer this kind of question."""
    structure = structures[heading.passage_number - 1]
    return all(question.accepts(structure.text(part)) for part in structure.section_start(heading.index, 1)[:1])


def _section_match(
    heading: SectionHeading, structures: Sequence[PassageStructure], question: AnalysedQuestion
) -> float:
    """Return how well a heading matches the question, where its section may be the whole answer.

    A question in the best passage has an advantage, unless a number is to be defined: tables and texts list those.
    """
    is_preferred = heading.passage_number == 1 and not question.term.isdigit()
    is_question = structures[heading.passage_number - 1].text(heading.index).rstrip(" #=*_").endswith(QUESTION_ENDINGS)
    if not (is_preferred and is_question):
        return heading.match
    return max(heading.match, min(heading.match + _BEST_PASSAGE_BONUS, _MAX_PREFERRED_MATCH))


def _add_following(
    selected: Mapping[int, set[int]], structures: Sequence[PassageStructure], best: QuoteCandidate
) -> None:
    """Add the sentences that follow the best one in its paragraph, as many as fit: they often complete it."""
    free_characters = _MAX_TOTAL_CHARACTERS - sum(
        structures[number - 1].length(index) for number, indexes in selected.items() for index in indexes
    )
    structure, quoted = structures[best.passage_number - 1], selected[best.passage_number]
    following = structure.next_sentence(best.index)
    while following is not None and structure.length(following) <= free_characters:
        if following not in quoted:
            if _is_repeated(_words(structure, following), [_words(structure, index) for index in quoted]):
                break
            if not structure.continues(following):
                break
            free_characters -= structure.length(following)
            quoted.add(following)
        following = structure.next_sentence(following)


def _select_candidates(
    candidates: Sequence[QuoteCandidate],
    structures: Sequence[PassageStructure],
    weights: Mapping[str, float],
    scores: Sequence[float],
) -> list[QuoteCandidate]:
    """Select the best candidate, and a few others that score similarly or add words of the question."""
    if not any(scores):  # no candidate differs from the others: take the first one, from the best passage
        return list(candidates[:1])
    total_weight = math.fsum(weights.values()) or 1.0
    min_score = max(scores) - _MAX_SCORE_DIFFERENCE
    selected: list[QuoteCandidate] = []
    quoted: list[frozenset[str]] = []
    uncovered_stems, free_characters = set(weights), _MAX_TOTAL_CHARACTERS

    def new_word_share(index: int) -> float:
        """Return the weighted share of the question's words that the candidate adds; 0 for the first candidate."""
        return total(weights, candidates[index].stems & uncovered_stems) / total_weight if selected else 0.0

    def total_score(index: int) -> float:
        return scores[index] + _NEW_WORDS_WEIGHT * new_word_share(index)

    open_indexes = list(range(len(candidates)))
    while len(selected) < _MAX_CANDIDATES:
        eligible = [
            index
            for index in open_indexes
            if total_score(index) >= min_score or new_word_share(index) >= _MIN_NEW_WORDS
        ]
        if not eligible:
            break
        best = max(eligible, key=lambda index: (total_score(index), -index))
        open_indexes.remove(best)
        candidate = candidates[best]
        structure = structures[candidate.passage_number - 1]
        words = _words(structure, candidate.index)
        length = structure.length(candidate.index)
        if selected and (_is_repeated(words, quoted) or length > free_characters):
            continue
        selected.append(candidate)
        uncovered_stems -= candidate.stems
        quoted.append(words)
        free_characters -= length
    return selected


def _words(structure: PassageStructure, index: int) -> frozenset[str]:
    return frozenset(split_words(structure.text(index), structure.passage.lang))


def _is_repeated(words: frozenset[str], quoted: Sequence[frozenset[str]]) -> bool:
    """Return whether the quoted parts have all of the words, or one has nearly all of them and all numbers."""
    return words <= frozenset[str]().union(*quoted) or any(
        len(words & known) >= _MIN_REPEATED_WORDS * len(words)
        and not any(character.isdigit() for word in words - known for character in word)
        for known in quoted
    )
