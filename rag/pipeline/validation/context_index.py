"""The words, numbers and sentences of a context, computed once for all sentences of an answer."""

import functools
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from rag.text.languages import detect_language
from rag.text.names import Mention
from rag.text.quantities.numbers import normalized_numbers
from rag.text.sentences.split_sentences import sentence_spans
from rag.text.words import split_words, stem

_WORD = re.compile(r"\w+")


class SharedStems(NamedTuple):
    """The number of stems that each sentence shares with a claim, and the first sentence with the most; () for none."""

    counts: Counter[int]
    first_best: tuple[int, ...]


@dataclass(frozen=True)
class ContextIndex:
    """A context with its words, numbers and sentences, which are computed on first use."""

    text: str
    lang: str

    @functools.cached_property
    def stem_sequence(self) -> list[str]:
        """The stem of each word, in order."""
        return [stem(word, self.lang) for word in split_words(self.text, self.lang)]

    @functools.cached_property
    def stems(self) -> frozenset[str]:
        """The distinct stems."""
        return frozenset(self.stem_sequence)

    @functools.cached_property
    def stem_bigrams(self) -> frozenset[tuple[str, str]]:
        """The pairs of adjacent stems."""
        return frozenset(pairwise(self.stem_sequence))

    @functools.cached_property
    def numbers(self) -> set[str]:
        """The numbers in normalized form, those in words included."""
        return normalized_numbers(self.text, self.lang or detect_language(self.text))

    @functools.cached_property
    def sentences(self) -> list[tuple[int, int]]:
        """Start and end of each sentence."""
        return sentence_spans(self.text)

    @functools.cached_property
    def sentences_by_stem(self) -> dict[str, list[int]]:
        """For each stem the indexes of the sentences that contain it."""
        indexes: dict[str, list[int]] = {}
        for index, (start, end) in enumerate(self.sentences):
            for sentence_stem in distinct_stems(self.text[start:end], self.lang):
                indexes.setdefault(sentence_stem, []).append(index)
        return indexes

    @functools.cached_property
    def sentence_starts(self) -> list[int]:
        """The start of each sentence."""
        return [start for start, _ in self.sentences]

    def count_shared_stems(self, stems: frozenset[str]) -> "SharedStems":
        """Count how many of the stems each sentence contains. An answer may repeat a sentence thousands of times."""
        if stems not in self._shared_stems:
            counts = Counter(
                sentence for claim_stem in stems for sentence in self.sentences_by_stem.get(claim_stem, ())
            )
            best = min(counts, key=lambda sentence: (-counts[sentence], sentence), default=None)
            self._shared_stems[stems] = SharedStems(counts, () if best is None else (best,))
        return self._shared_stems[stems]

    @functools.cached_property
    def _shared_stems(self) -> "dict[frozenset[str], SharedStems]":
        return {}

    @functools.cached_property
    def _normalized_text(self) -> str:
        return _normalize(self.text)

    def contains_verbatim(self, sentence: str) -> bool:
        """Return whether the context contains the words of the sentence in the same order without gaps."""
        return _normalize(sentence) in self._normalized_text

    def contains_name(self, name: Mention) -> bool:
        """Return whether the context contains all words of a name."""
        return all(stem(word, self.lang) in self.stems for word in split_words(name.text, self.lang))


def distinct_stems(text: str, lang: str) -> frozenset[str]:
    """Return the distinct stems of a text."""
    return frozenset(stem(word, lang) for word in split_words(text, lang))


def join_spans(spans: Iterable[tuple[int, int]], max_characters: int) -> list[tuple[int, int]]:
    """Join neighbouring spans, such as those of sentences, up to a maximum length; longer spans are split."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and end - joined[-1][0] <= max_characters:
            joined[-1] = (joined[-1][0], end)
        else:
            starts = range(start, end, max_characters)
            joined += [(part_start, min(part_start + max_characters, end)) for part_start in starts]
    return joined


def _normalize(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.lower()))} "
