"""Makes quotes of the chosen parts of a passage: parts without a gap between them are one quote."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from rag.text.markup.titles.faq_questions import QUESTION_ENDINGS, without_question_label
from rag.text.sentences.dependent_sentences import needs_question
from rag.text.sentences.quotable_units import UnitKind
from rag.text.sentences.unspaced_scripts import count_words
from rag.text.words import content_words, stem
from rag.types import Citation

from .parts.needed_parts import PassageStructure
from .question.answer_patterns import AnswerType
from .question.answer_types import has_answer_of_type
from .quotes import Quote
from .render_quotes import plain_heading, render_lines
from .scores.section_headings import is_in_section

# If a question and the one that is asked have more words in common, of those of the shorter one, they are the same.
_MAX_COMMON = 0.5
_MAX_WORDS_OF_FRAGMENT = 8
_SENTENCE_ENDINGS, _CLOSING = (*".!?:…。！？؟।",), "\"'”’»)]*_ "


def quote_parts(
    number: int,
    structure: PassageStructure,
    indexes: Iterable[int],
    words: Sequence[str] = (),
    answer_type: AnswerType | None = None,
) -> list[Quote]:
    """Quote parts of a passage, in reading order; parts without a gap between them become one quote.

    Args:
        number: The passage's number in the prompt, from 1.
        structure: The passage.
        indexes: The indexes of the parts.
        words: The content words of the question.
        answer_type: What the question asks for, such as a time.
    """
    ordered = sorted(indexes)
    if not ordered:
        return []
    runs: list[list[int]] = []
    for index in ordered:
        if runs and structure.follows(runs[-1][-1], index) and not structure.is_heading(index):
            runs[-1].append(index)
        else:
            runs.append([index])
    selected = set(ordered)
    followed = [_belong_together(structure, run[-1], following[0]) for run, following in pairwise(runs)]
    return [
        replace(
            _quote_run(number, structure, run, continues=continues, is_cut=_is_cut(structure, run, selected)),
            introduction=_question_above(structure, run[0], words) or _heading_above(structure, run, answer_type),
        )
        for run, continues in zip(runs, [*followed, False], strict=True)
    ]


def _cite(number: int, structure: PassageStructure, index: int) -> Citation:
    passage, start, end = structure.passage, structure.parts[index].start, structure.quote_end(index)
    return Citation(number, passage, passage.text[start:end], passage.start + start, passage.start + end)


def _belong_together(structure: PassageStructure, index: int, following: int) -> bool:
    """Return whether two parts belong to one list or table, or one introduces the other."""
    part, other = structure.parts[index], structure.parts[following]
    is_same_list = part.block == other.block and part.kind is not UnitKind.SENTENCE
    return is_same_list or structure.lead_in(following) == index


def _is_cut(structure: PassageStructure, run: Sequence[int], selected: set[int]) -> bool:
    """Return whether a list or table is quoted from its beginning, but not to its end."""
    block = [index for index in structure.block_of(run[-1]) if structure.is_readable(index)]
    is_list = structure.parts[run[-1]].kind in (UnitKind.ITEM, UnitKind.ROW) and len(block) > 1
    return is_list and set(block[:2]) <= set(run) and not set(block) <= selected


def _question_above(structure: PassageStructure, index: int, words: Sequence[str]) -> str:
    """Return the question of an FAQ right above its answer, if this needs it and it is not the one that is asked."""
    is_first = index > 0 and structure.heading_index(index) == index - 1
    title = structure.labelled_question_above(index) or (structure.visible_text(index - 1) if is_first else "")
    title = " ".join(plain_heading(without_question_label(title)).split())
    lang, is_sentence = structure.passage.lang, structure.parts[index].kind is UnitKind.SENTENCE
    if not (is_sentence and title.endswith(QUESTION_ENDINGS) and needs_question(structure.text(index), lang)):
        return ""
    stems, sought = ({stem(word, lang) for word in text} for text in (content_words(title, lang), words))
    return title if len(stems & sought) <= _MAX_COMMON * min(len(stems), len(sought)) else ""


def _heading_above(structure: PassageStructure, run: Sequence[int], answer_type: AnswerType | None) -> str:
    """Return the heading above a quote that says too little without it: a few words, or no time if one is asked for."""
    above = structure.heading_index(run[0])
    if above is None or above in run or structure.is_title(above):
        return ""
    if any(structure.parts[index].kind is not UnitKind.SENTENCE for index in run):
        return ""
    title = " ".join(plain_heading(structure.visible_text(above)).split())
    texts = [" ".join(structure.visible_text(index).split()) for index in run]
    is_right_above = above == run[0] - 1
    short = texts[:1] if is_right_above else texts
    is_short = not any(map(_ends_sentence, short)) and sum(map(count_words, short)) <= _MAX_WORDS_OF_FRAGMENT
    is_answer = (
        answer_type is not None
        and is_right_above
        and has_answer_of_type(title, answer_type)
        and not any(has_answer_of_type(text, answer_type) for text in texts)
    )
    return f"{title.rstrip(':')}:" if title and (is_short or is_answer) and not title.endswith(QUESTION_ENDINGS) else ""


def _ends_sentence(text: str) -> bool:
    return text.rstrip(_CLOSING).endswith(_SENTENCE_ENDINGS)


def _quote_run(number: int, structure: PassageStructure, run: Sequence[int], *, continues: bool, is_cut: bool) -> Quote:
    """Quote consecutive parts."""
    lines = render_lines(structure, run, is_cut=is_cut)
    kinds = {structure.parts[index].kind for index in run}
    citations = tuple(_cite(number, structure, index) for index in run)
    # A quote may begin with the title of its paragraph: "**3. Money.** The till has 40 euros."
    heading = run[0] if structure.is_heading(run[0]) else structure.heading_index(run[0])
    return Quote(
        number,
        citations,
        "\n".join(lines),
        is_block=kinds != {UnitKind.SENTENCE} or len(lines) > 1,
        continues=continues,
        is_in_section=is_in_section(structure, run[0]),
        heading="" if heading is None else structure.visible_text(heading),
    )
