"""Step: passages -> the same without passages that repeat a better one."""

import functools
from collections.abc import Sequence

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


def deduplicate(passages: Sequence[Passage]) -> list[Passage]:
    """Keep the first of several copies of a text in different documents, in the same order.

    Another number, another name or a `not` is a different word, so both texts are kept. So are short texts under
    different titles, and repetitions within one document.
    """
    unique: list[Passage] = []
    for passage in passages:
        if not any(_is_copy(passage, better) for better in unique):
            unique.append(passage)
    return unique


def _is_copy(passage: Passage, better: Passage) -> bool:
    if passage.document_id == better.document_id:
        return False
    shorter, longer = sorted((len(passage.text), len(better.text)))
    if longer - shorter > _MAX_LENGTH_DIFFERENCE * longer:
        return False
    return abs(passage.score - better.score) <= _MAX_SCORE_DIFFERENCE and adds_nothing(passage, better)


def adds_nothing(passage: Passage, other: Passage) -> bool:
    """Return whether the other passage, which may be longer, says everything that this one says."""
    passage_words, passage_runs, word_count = _words_and_runs(passage.text, passage.lang)
    other_words, other_runs, _ = _words_and_runs(other.text, other.lang)
    has_same_title = (passage.title, passage.headings) == (other.title, other.headings)
    if word_count < _MIN_WORDS_WITHOUT_TITLE and not has_same_title:
        return False
    if not passage_words <= other_words:
        return False
    return len(passage_runs & other_runs) >= _MIN_SHARED_RUNS * len(passage_runs)


@functools.lru_cache(maxsize=256)
def _words_and_runs(text: str, lang: str) -> tuple[frozenset[str], frozenset[tuple[str, ...]], int]:
    """Return the distinct words, the distinct runs of words, and the number of words."""
    text_words = split_words(text, lang)
    run_count = max(1, len(text_words) - _RUN_LENGTH + 1)
    runs = (tuple(text_words[start : start + _RUN_LENGTH]) for start in range(run_count))
    return frozenset(text_words), frozenset(runs), len(text_words)
