"""Step: an answer without a language model: the sentences of the passages that answer best, quoted."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rag.lexical import content_words, language_of, sentences, stem, stems_among
from rag.types import Passage

NAME = "extractive"
_MOST_SENTENCES = 3
_MOST_PASSAGES = 5
_MOST_CHARACTERS = 600
# A further sentence must be this good beside the best one.
_WORTH_ADDING = 0.6


@dataclass(frozen=True, slots=True)
class _Sentence:
    number: int  # of its passage
    position: int
    text: str
    stems: frozenset[str]


# From a passage's 1-based number and the passage to what follows each sentence of it.
Mark = Callable[[int, Passage], str]


def quoted(query: str, passages: Sequence[Passage], *, mark: Mark) -> str:
    """The best supported sentences in reading order, each with its passage's mark: `A sentence. [1]`."""
    return " ".join(f"{each.text} {mark(each.number, passages[each.number - 1])}" for each in _chosen(query, passages))


def quoted_plainly(query: str, passages: Sequence[Passage]) -> str:
    """The same without marks."""
    return " ".join(each.text for each in _chosen(query, passages))


def _chosen(query: str, passages: Sequence[Passage]) -> list[_Sentence]:
    offered = passages[:_MOST_PASSAGES]
    words = content_words(query, language_of(query, [passage.lang for passage in offered]))
    numbered = enumerate(offered, start=1)
    found = [each for number, passage in numbered for each in _sentences(number, passage, words)]
    prose = [each for each in found if not _is_markup(each.text)]
    return sorted(_best(prose or found, passages), key=lambda each: (each.number, each.position))


def _sentences(number: int, passage: Passage, words: Sequence[str]) -> list[_Sentence]:
    wanted = {stem(word, passage.lang) for word in words}
    return [
        _Sentence(number, position, text[:_MOST_CHARACTERS], frozenset(stems_among(text, wanted, passage.lang)))
        for position, text in enumerate(sentences(passage.text))
    ]


def _is_markup(text: str) -> bool:
    """Headings, rows of tables, fences and rules are no sentences."""
    return text.startswith(("#", "|", "```")) or set(text) <= set("-=*_~`| :")


def _best(found: Sequence[_Sentence], passages: Sequence[Passage]) -> list[_Sentence]:
    """What each sentence adds counts: the rarer its words among the sentences, and the better its passage."""
    holding = Counter(each for sentence in found for each in sentence.stems)
    rarity = {each: math.log(1 + len(found) / held) for each, held in holding.items()}

    def worth(sentence: _Sentence, missing: set[str]) -> float:
        return sum(rarity[each] for each in sentence.stems & missing) * (0.5 + passages[sentence.number - 1].relevance)

    chosen: list[_Sentence] = []
    missing, first = set(holding), 0.0
    while found and len(chosen) < _MOST_SENTENCES:
        candidate = max(found, key=lambda each: (worth(each, missing), -each.number, -each.position))
        gain = worth(candidate, missing)
        first = first or gain
        if candidate in chosen or (chosen and gain < _WORTH_ADDING * first):
            break
        chosen.append(candidate)
        if not gain:  # no word in common: the best passage's first sentence has to do
            break
        missing -= candidate.stems
    return chosen
