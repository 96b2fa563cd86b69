"""Step: passages → the same without those that repeat a better one."""

import functools
from collections.abc import Sequence

from rag.text.words import split_words
from rag.types import Passage

# Copies are about as long as each other, and about as near to the question: others need no closer look.
_LENGTH, _SCORE = 0.1, 0.05
# A text repeats another one if it has no word of its own, and this share of its runs of three words is in the other.
_REPEATED, _RUN = 0.9, 3
# Words from which on a text says the same whatever title it stands under.
_SPEAKS_FOR_ITSELF = 30


def distinct(passages: Sequence[Passage]) -> list[Passage]:
    """In the same order. Of copies of a text in several documents the first one stays.

    Another number, another name or a `not` is a word of its own: such texts stay both. So do short texts under
    different titles, and what a document says twice, in two places.
    """
    kept: list[Passage] = []
    for passage in passages:
        if not any(_repeats(passage, better) for better in kept):
            kept.append(passage)
    return kept


def _repeats(one: Passage, other: Passage) -> bool:
    if one.document_id == other.document_id:
        return False
    lengths = sorted((len(one.text), len(other.text)))
    if lengths[1] - lengths[0] > _LENGTH * lengths[1] or abs(one.score - other.score) > _SCORE:
        return False
    return adds_nothing(one, other)


def adds_nothing(one: Passage, other: Passage) -> bool:
    """Whether it says nothing that the other, which may be longer, does not say as well."""
    (own, own_runs, count), (others, other_runs, _) = _said(one.text, one.lang), _said(other.text, other.lang)
    if count < _SPEAKS_FOR_ITSELF and (one.title, one.headings) != (other.title, other.headings):
        return False
    return own <= others and len(own_runs & other_runs) >= _REPEATED * len(own_runs)


@functools.lru_cache(maxsize=256)
def _said(text: str, lang: str) -> tuple[frozenset[str], frozenset[tuple[str, ...]], int]:
    """Its words, its runs of words, and how many words it has."""
    found = split_words(text, lang)
    runs = (tuple(found[index : index + _RUN]) for index in range(max(1, len(found) - _RUN + 1)))
    return frozenset(found), frozenset(runs), len(found)
