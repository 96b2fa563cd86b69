"""What a section adds to its best part: all the rest if the part says little of what is asked, or the beginning."""

from collections.abc import Mapping, Sequence

from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.parts.neighbouring_parts import characters_of, readable_parts
from rag.pipeline.answering.extractive.question.question_type import AnalysedQuestion
from rag.pipeline.answering.extractive.scores.question_words import total
from rag.text.markup.titles.faq_questions import QUESTION_ENDINGS
from rag.text.sentences.quotable_units import UnitKind
from rag.text.words import stem, stems_among

# A part with a smaller share of the question's weighted words is read with its section, because the rest of the section
# says what it is about, if the section is this short. Less is read where a time or a number is the answer.
_MIN_OWN_WORDS = 0.5
_MAX_SECTION, _MAX_TYPED_SECTION = 800, 350


def parts_of_section(
    structure: PassageStructure,
    index: int,
    quoted: set[int],
    question: AnalysedQuestion,
    weights: Mapping[str, float],
) -> set[int]:
    """Return the parts of a section that are quoted with its best part.

    Args:
        structure: The passage.
        index: The index of the best part.
        quoted: The parts that are quoted with it already.
        question: The question.
        weights: The weights of those stems of the question that the passages have.

    Returns:
        The whole section if it is short and what is quoted has few words of the question. The first paragraph if it
        answers the heading: this is a question, or a term that is explained. Otherwise nothing.
    """
    groups = structure.sections[structure.section_of(index)]
    is_typed = question.answer_type is not None
    is_entry = structure.parts[index].kind is UnitKind.ROW or (
        is_typed and structure.parts[index].kind is UnitKind.ITEM
    )
    if is_entry or not groups:
        return set()
    is_short = characters_of(structure, groups) <= (_MAX_TYPED_SECTION if is_typed else _MAX_SECTION)
    if is_short and _word_share(structure, quoted, question.words, weights) < _MIN_OWN_WORDS:
        return readable_parts(structure, [part for group in groups for part in group])
    first = readable_parts(structure, groups[0])
    length = sum(structure.length(part) for part in first | quoted)
    if is_typed or index in groups[0] or length > _MAX_SECTION or not _is_answered_first(structure, index):
        return set()
    return first


def _is_answered_first(structure: PassageStructure, index: int) -> bool:
    """Return whether the first paragraph of a part's section answers its heading: a question, or a term."""
    heading = structure.heading_index(index)
    if heading is None:
        return False
    is_question = structure.visible_text(heading).rstrip(" #=*_").endswith(QUESTION_ENDINGS)
    return is_question or structure.parts[heading].kind is UnitKind.TERM


def _word_share(
    structure: PassageStructure, parts: set[int], question_words: Sequence[str], weights: Mapping[str, float]
) -> float:
    """Return the share of the question's words that these parts have, by weight; 1 if the question has none."""
    lang = structure.passage.lang
    # A word that no passage has is as important as the rarest one.
    highest = max(weights.values(), default=0.0)
    question_weights = {item: weights.get(item, highest) for item in (stem(word, lang) for word in question_words)}
    stems = {item for part in parts for item in stems_among(structure.text(part), set(question_weights), lang)}
    expected = total(question_weights, frozenset(question_weights))
    return total(question_weights, frozenset(stems)) / expected if expected else 1.0
