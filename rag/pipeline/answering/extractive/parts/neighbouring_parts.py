"""Which neighbouring parts are quoted, as far as they fit: of a section's beginning, or of the part that is quoted."""

from collections.abc import Sequence

from rag.pipeline.answering.extractive.question.answer_types import has_answer_of_type
from rag.pipeline.answering.extractive.question.question_type import AnalysedQuestion
from rag.text.sentences.dependent_sentences import depends_on_predecessor
from rag.text.sentences.quotable_units import UnitKind
from rag.text.words import stem, stems_among

from .needed_parts import PassageStructure
from .reading_groups import Section

# What is asked for may be at most this many sentences below the best one.
_MAX_SKIPPED_SENTENCES = 4
# A section of two paragraphs is quoted as a whole if it is this short and the second one continues the first.
_MAX_WHOLE_SECTION = 450


def section_beginning(
    structure: PassageStructure, heading: int, max_characters: int, best: int | None = None
) -> set[int]:
    """Return the parts below a heading that fit: whole paragraphs with the lists, tables and code that they introduce.

    Of a first paragraph, and of a list or table at the end, as many sentences, items or rows as fit.

    Args:
        structure: The passage.
        heading: The index of the heading.
        max_characters: The maximum length of the result, except for what its parts need to be understood.
        best: The best part of the passage. If the section is too long, this part's paragraph follows the first one.

    Returns:
        The indexes of the parts; empty if no part below the heading can be quoted.
    """
    number = structure.section_of(heading)
    groups = structure.sections[number]
    if not _has_quotable(structure, groups):  # nothing or a remark is above the first section within this one
        groups = next(iter(structure.sections[number + 1 : number + 2]), [])
    while groups and not _has_quotable(structure, groups[:1]):
        groups = groups[1:]
    if not groups:
        return set()
    best_group = next((number for number, group in enumerate(groups) if best in group), 0)
    first = characters_of(structure, groups[:1])
    needed = structure.complete(next(part for part in groups[0] if structure.is_quotable(part)))
    is_far = characters_of(structure, groups[: best_group + 1]) > max_characters
    if best_group and is_far and first + characters_of(structure, [groups[best_group]]) <= max_characters:
        following = _beginning(structure, groups[best_group:], max_characters - first)
        return needed | readable_parts(structure, groups[0]) | following
    return needed | _beginning(structure, groups, max_characters)


def surrounding_parts(structure: PassageStructure, index: int, max_characters: int, *, is_procedure: bool) -> set[int]:
    """Return a part together with what people read with it.

    Args:
        structure: The passage.
        index: The index of the part.
        max_characters: The maximum length of the result, except for what the part needs to be understood.
        is_procedure: Whether the question asks how something is done.

    Returns:
        The paragraph of the part with the list, table or code that it introduces. If the section has a list or
        commands and the question asks for them: the section from its beginning, or from this paragraph on, as far as it
        fits. If the paragraph is too long: the part, and what it needs to be understood.
    """
    needed = structure.complete(index)
    groups = structure.sections[structure.section_of(index)]
    group_number = next((number for number, group in enumerate(groups) if index in group), None)
    if group_number is None:  # a heading
        return needed
    if characters_of(structure, [groups[group_number]]) > max_characters:
        if is_procedure and structure.is_step(index):  # it says little without the steps before it
            return _beginning(structure, groups[group_number:], max_characters)
        block = [part for part in groups[group_number] if structure.parts[part].block == structure.parts[index].block]
        fits = characters_of(structure, [block]) <= max_characters
        return needed | readable_parts(structure, block) if fits else needed
    if not is_procedure or not _has_steps(structure, groups):
        return needed | readable_parts(structure, groups[group_number])
    has_heading = structure.section_of(index) > 0
    fits = characters_of(structure, groups[: group_number + 1]) <= max_characters
    parts = needed | _beginning(structure, groups[0 if has_heading and fits else group_number :], max_characters)
    return with_first_steps(structure, index, parts, max_characters)


def with_first_steps(structure: PassageStructure, index: int, parts: set[int], max_characters: int) -> set[int]:
    """Return the parts with the first steps or commands below them in their section.

    If there is not enough room for all paragraphs, only that of one part is kept.

    Args:
        structure: The passage.
        index: The index of the part whose paragraph is kept.
        parts: The parts that are quoted. If some are not sentences, nothing is added.
        max_characters: The maximum length of the result.
    """
    groups = structure.sections[structure.section_of(index)]
    number = next((number for number, group in enumerate(groups) if index in group), -1)
    first = next((n for n in range(number + 1, len(groups)) if _has_steps(structure, groups[n : n + 1])), 0)
    if not first or number < 0 or any(structure.parts[part].kind is not UnitKind.SENTENCE for part in parts):
        return parts
    for kept in (parts, readable_parts(structure, groups[number])):
        free = max_characters - sum(structure.length(part) for part in kept)
        if characters_of(structure, [groups[first]]) <= free:
            return kept | _beginning(structure, groups[first:], free)
    return parts


def second_paragraph(structure: PassageStructure, index: int, max_characters: int) -> set[int]:
    """Return the second paragraph of a short section that has two, if it continues the first, in which the part is."""
    groups = structure.sections[structure.section_of(index)]
    is_short = len(groups) == 2 and characters_of(structure, groups) <= min(max_characters, _MAX_WHOLE_SECTION)
    if not is_short or not structure.section_of(index) or index not in groups[0]:
        return set()
    return readable_parts(structure, groups[1]) if structure.continues(groups[1][0]) else set()


def related_paragraphs(
    structure: PassageStructure, index: int, max_characters: int, question: AnalysedQuestion
) -> set[int]:
    """Return a part's paragraph with those that it continues, and with following ones that are about the same.

    These begin with a word that refers to an earlier sentence, or have a word of the question. At most one that is not
    is between two of them.

    Args:
        structure: The passage.
        index: The index of the part.
        max_characters: The maximum length of the result.
        question: The question.

    Returns:
        The indexes of the parts; empty if the part is not below a heading, or its paragraph is too long.
    """
    groups = structure.sections[structure.section_of(index)]
    first = last = next((number for number, group in enumerate(groups) if index in group), -1)
    if first < 0 or not structure.section_of(index):
        return set()
    lang = structure.passage.lang
    stems = {stem(word, lang) for word in question.words}

    def fits(first: int, last: int) -> bool:
        return characters_of(structure, groups[first : last + 1]) <= max_characters

    while first and fits(first - 1, last) and depends_on_predecessor(structure.text(groups[first][0]), lang):
        first -= 1
    for number in range(last + 1, len(groups)):
        if number > last + 2 or not fits(first, number):
            break
        text = " ".join(structure.text(part) for part in groups[number])
        if depends_on_predecessor(text, lang) or stems_among(text, stems, lang):
            last = number
    parts = [part for group in groups[first : last + 1] for part in group]
    return readable_parts(structure, parts) if fits(first, last) else set()


def rest_of_section(structure: PassageStructure, parts: set[int], max_characters: int) -> set[int]:
    """Return what follows these parts in their section, as far as all fits together."""
    groups = structure.sections[structure.section_of(min(parts))]
    following = [group for group in groups if group[0] > max(parts)]
    chosen: set[int] = set()
    for group in following:
        if structure.parts[group[-1]].end - structure.parts[min(parts)].start > max_characters:
            break
        chosen |= readable_parts(structure, group)
    return chosen


def _beginning(structure: PassageStructure, groups: Section, max_characters: int) -> set[int]:
    """Return the first groups, as many as fit, and the beginning of the next one if it can be divided.

    Lists, tables and the first paragraph can be divided.
    """
    parts: list[int] = []
    start = structure.parts[groups[0][0]].start
    for number, group in enumerate(groups):
        if characters_of(structure, groups[: number + 1]) <= max_characters:
            parts += group
            continue
        if number == 0 or all(structure.parts[part].kind in (UnitKind.ITEM, UnitKind.ROW) for part in group):
            count = sum(structure.parts[part].end - start <= max_characters for part in group)
            parts += group[: max(count, 1 - number)]
        break
    quoted = readable_parts(structure, parts)
    # A lead-in is quoted with its list, even if this exceeds the limit.
    return quoted | structure.complete(max(quoted)) if quoted else quoted


def readable_parts(structure: PassageStructure, parts: Sequence[int]) -> set[int]:
    """Return the parts that may be shown, without those at the end whose continuation is missing."""
    readable = [part for part in parts if structure.is_readable(part)]
    while len(readable) > 1 and structure.lacks_following(readable[-1]):
        readable.pop()
    return set(readable)


def _has_steps(structure: PassageStructure, groups: Section) -> bool:
    kinds = {structure.parts[part].kind for group in groups for part in group}
    return not kinds.isdisjoint((UnitKind.ITEM, UnitKind.CODE))


def without_lone_lead_ins(structure: PassageStructure, parts: set[int]) -> set[int]:
    """Leave out introductions ("You need:") without what they introduce, unless there is nothing else."""
    introduced = {structure.lead_in(part) for part in parts}
    lone = {
        part
        for part in parts - introduced
        if structure.is_lead_in(part) and (part + 1 not in parts or structure.is_heading(part + 1))
    }
    return parts - lone or parts


def _has_quotable(structure: PassageStructure, groups: Section) -> bool:
    return any(structure.is_quotable(part) for group in groups for part in group)


def characters_of(structure: PassageStructure, groups: Section) -> int:
    """Return the length of a section, from its first part to its last."""
    return structure.parts[groups[-1][-1]].end - structure.parts[groups[0][0]].start


def find_typed_sentence(
    structure: PassageStructure, index: int, parts: set[int], question: AnalysedQuestion
) -> set[int]:
    """Return the next sentences of a paragraph up to one with the number or time that is asked for.

    Args:
        structure: The passage.
        index: The index of the best sentence.
        parts: The parts that are quoted. If one of them has what is asked for, nothing is added.
        question: The question.
    """
    answer_type = question.answer_type
    if answer_type is None or any(has_answer_of_type(structure.text(part), answer_type) for part in parts):
        return set()
    following, skipped = structure.next_sentence(index), set[int]()
    while following is not None and len(skipped) < _MAX_SKIPPED_SENTENCES:
        skipped.add(following)
        if has_answer_of_type(structure.text(following), answer_type):
            return skipped
        following = structure.next_sentence(following)
    return set()


def is_typed_answer(structure: PassageStructure, index: int, question: AnalysedQuestion) -> bool:
    """Return whether a sentence alone has the number or time that is asked for: it introduces nothing."""
    is_whole = structure.parts[index].kind is UnitKind.SENTENCE and not structure.is_lead_in(index)
    answer_type = None if question.asks_about_answer else question.answer_type
    return is_whole and answer_type is not None and has_answer_of_type(structure.text(index), answer_type)
