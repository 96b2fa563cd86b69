"""Step: passages -> the same without passages that repeat a better one."""

import functools
import re
from collections.abc import Sequence

import numpy as np

from rag.text.words import split_words
from rag.types import Passage

# Copies have about the same length and score: passages that differ more are not compared further.
_MAX_LENGTH_DIFFERENCE = 0.1
_MAX_SCORE_DIFFERENCE = 0.05
# A text repeats another one if the other contains all of its words and this share of its three-word runs.
_MIN_SHARED_RUNS = 0.9
_RUN_LENGTH = 3
# From this number of words on, a text means the same under any title.
_MIN_WORDS_WITHOUT_TITLE = 30
# Texts are compared further if one has the beginnings of this many words of the other. In scripts without spaces, words
# are pairs of characters, so a longer part need not be in the other.
_SAMPLES = 6
_BEGINNING = re.compile(r"(?<![\w'’])[a-z0-9]{4,20}")


def deduplicate(passages: Sequence[Passage]) -> list[Passage]:
    """Keep the first of several copies of a text in different documents, in the same order.

    Another number, another name or a `not` is a different word, so both texts are kept. So are short texts under
    different titles, and repetitions within one document.
    """
    is_kept = [True] * len(passages)
    beginnings = [_beginning(passage.text, 0) for passage in passages]
    lowered = [_lowered(passage.text) for passage in passages]
    for later, earlier in _find_near_pairs(passages):
        # The same that `adds_nothing` looks at first, which nearly always decides.
        if beginnings[later] in lowered[earlier] and is_kept[later] and is_kept[earlier]:
            passage, better = passages[later], passages[earlier]
            is_kept[later] = passage.document_id == better.document_id or not adds_nothing(passage, better)
    return [passage for passage, kept in zip(passages, is_kept, strict=True) if kept]


def _find_near_pairs(passages: Sequence[Passage]) -> list[tuple[int, int]]:
    """Return the indexes (later, earlier) of passages with about the same length and score, in ascending order.

    These are few: 50 passages have 1,225 pairs.
    """
    lengths = np.array([len(passage.text) for passage in passages])
    scores = np.array([passage.score for passage in passages])
    is_near = np.abs(lengths[:, None] - lengths) <= _MAX_LENGTH_DIFFERENCE * np.maximum(lengths[:, None], lengths)
    is_near &= np.abs(scores[:, None] - scores) <= _MAX_SCORE_DIFFERENCE
    return [(later, earlier) for later, earlier in np.argwhere(np.tril(is_near, -1)).tolist()]


def adds_nothing(passage: Passage, other: Passage) -> bool:
    """Return whether the other passage, which may be longer, says everything that this one says."""
    other_text = _lowered(other.text)
    if not all(_beginning(passage.text, number) in other_text for number in range(_SAMPLES)):
        return False
    passage_words, passage_runs, word_count = _words_and_runs(passage.text, passage.lang)
    other_words, other_runs, _ = _words_and_runs(other.text, other.lang)
    has_same_title = (passage.title, passage.headings) == (other.title, other.headings)
    if word_count < _MIN_WORDS_WITHOUT_TITLE and not has_same_title:
        return False
    if not passage_words <= other_words:
        return False
    return len(passage_runs & other_runs) >= _MIN_SHARED_RUNS * len(passage_runs)


@functools.lru_cache(maxsize=256)
def _lowered(text: str) -> str:
    return text.lower()


@functools.lru_cache(maxsize=1_024)
def _beginning(text: str, number: int) -> str:
    """Return the beginning of one of the words of a text in lower case: a text without it does not have all words.

    Each is found when it is needed, because most other texts lack the first one already.
    """
    lowered = _lowered(text)
    match = _BEGINNING.search(lowered, number * len(lowered) // _SAMPLES)
    return match.group() if match else ""


@functools.lru_cache(maxsize=256)
def _words_and_runs(text: str, lang: str) -> tuple[frozenset[str], frozenset[tuple[str, ...]], int]:
    """Return the distinct words, the distinct runs of words, and the number of words."""
    text_words = split_words(text, lang)
    run_count = max(1, len(text_words) - _RUN_LENGTH + 1)
    runs = (tuple(text_words[start : start + _RUN_LENGTH]) for start in range(run_count))
    return frozenset(text_words), frozenset(runs), len(text_words)
