"""Finds parts that repeat what is quoted already."""

from collections.abc import Iterable, Sequence

from rag.text.sentences.quotable_units import UnitKind
from rag.text.words import split_words

from .needed_parts import PassageStructure

# A part that shares this much of its words with a quoted one repeats it.
_MIN_REPEATED_WORDS = 0.8


def without_repetitions(structure: PassageStructure, parts: set[int], best: int | None = None) -> set[int]:
    """Leave out sentences that repeat another one, but not the best one."""
    kept = {} if best is None else {best: words_of(structure, best)}
    for index in sorted(parts - kept.keys()):
        words = words_of(structure, index)
        if structure.parts[index].kind is not UnitKind.SENTENCE or not _repeats_one(words, kept.values()):
            kept[index] = words
    return set(kept)


def words_of(structure: PassageStructure, index: int) -> frozenset[str]:
    """Return the words of a part."""
    return frozenset(split_words(structure.text(index), structure.passage.lang))


def is_repeated(words: frozenset[str], quoted: Sequence[frozenset[str]]) -> bool:
    """Return whether the quoted parts have all of the words, or one of them says the same."""
    return words <= frozenset[str]().union(*quoted) or _repeats_one(words, quoted)


def _repeats_one(words: frozenset[str], quoted: Iterable[frozenset[str]]) -> bool:
    """Return whether one quoted part has nearly all of the words and all numbers."""
    return any(
        len(words & known) >= _MIN_REPEATED_WORDS * len(words)
        and not any(character.isdigit() for word in words - known for character in word)
        for known in quoted
    )
