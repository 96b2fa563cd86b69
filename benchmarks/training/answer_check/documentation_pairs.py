"""Pairs from documentation: sections that answer what their headings ask, and similar ones that do not."""

import random
import re
from pathlib import Path

import numpy as np

from benchmarks.training.answer_check.pairs import Pair, compare, with_title
from benchmarks.training.questions import read_markdown
from rag.text.markup.html_tags import remove_tags
from rag.text.markup.pictures import without_pictures

_MAX_QUESTIONS, _MIN_QUESTIONS = 900, 20
_LENGTHS, _MIN_CHARACTERS, _MIN_CUT_CHARACTERS = (200, 350, 500), 40, 60
_SIMILAR, _SHARE_WITH_TITLE, _SHARE_SECOND_WRONG = 8, 0.4, 0.3
# A section that is more similar than that to a question probably answers it as well.
_MAX_SIMILARITY = 0.85
_LINK = re.compile(r"\[([^\[\]]{0,300})\]\([^()]{0,1000}\)")


def read_documentation_pairs(folder: Path, generator: random.Random) -> list[Pair]:
    """Read pairs from the Markdown files in a folder: one organisation's documentation, so that sections are similar.

    Returns:
        The pairs; none if the folder has few headings that can be asked.
    """
    texts, questions = read_markdown([folder], generator)
    generator.shuffle(questions)
    sections = []
    for answered in questions[:_MAX_QUESTIONS]:
        text = texts[answered.text_index]
        quote = _shorten(text.text[answered.start : answered.end], generator.choice(_LENGTHS))
        if len(quote) > _MIN_CHARACTERS:
            sections.append((answered.question, text.title, quote))
    if len(sections) < _MIN_QUESTIONS:
        return []
    similarities = compare([question for question, _, _ in sections], [quote for _, _, quote in sections])
    pairs = []
    for (question, title, quote), similarity in zip(sections, similarities, strict=True):
        pairs.append(Pair(question, with_title(quote, title, generator, _SHARE_WITH_TITLE), True))
        wrong = [
            sections[index]
            for index in np.argsort(-similarity)[:_SIMILAR]
            if sections[index][0] != question and similarity[index] < _MAX_SIMILARITY
        ]
        if wrong:
            _, other_title, other = wrong[0]
            pairs.append(Pair(question, with_title(other, other_title, generator, _SHARE_WITH_TITLE), False))
        if len(wrong) > 3 and generator.random() < _SHARE_SECOND_WRONG:
            pairs.append(Pair(question, wrong[3][2], False))
    return pairs


def _shorten(section: str, length: int) -> str:
    """Return the beginning of a section as it is read, up to the end of a sentence or line."""
    text = remove_tags(_LINK.sub(r"\1", without_pictures(section))).strip()
    if len(text) <= length:
        return text
    end = max(text.rfind(". ", 0, length), text.rfind("\n", 0, length))
    return text[: end + 1 if end > _MIN_CUT_CHARACTERS else length].strip()
