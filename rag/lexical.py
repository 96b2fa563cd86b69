"""Words and their stems: what ranking, grounding and quoting compare texts by, besides their meaning."""

import functools
import math
import re
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import snowballstemmer

# Possessive, and only at the start of a run: what does not match is left after one look at it.
SENTENCE_END = re.compile(r"(?<![.!?])[.!?]++[\"'”’)\]]*+\s++|[。！？]++\s*+")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# Words that hold a sentence together and say nothing of its subject.
_FUNCTION_WORD_LIST = """
a about above after again all also am an and any are as at be because been before being below between both but
by can could did do does doing down during each either else ever every few for from further get gets got had
has have having he her here hers herself him himself his how i if in into is it its itself just let like made
make many may me might more most much must my myself no nor not now of off on once one only or other our ours
ourselves out over own per please same shall she should so some such tell than that the their theirs them
themselves then there these they thing this those through to too under until up upon us use used using very
via was we were what when where whether which while who whom whose why will with within without would you your
yours yourself
"""
_FUNCTION_WORDS = frozenset(_FUNCTION_WORD_LIST.split())
# Stemming takes time by the square of a word's length, and stems are remembered.
_MOST_LETTERS = 64
_K1, _B = 1.2, 0.75


def words(text: str) -> list[str]:
    """The words of a text in lower case, in order; of a very long one its beginning."""
    return [word[:_MOST_LETTERS] for word in _WORD.findall(text.lower())]


@functools.lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    return str(_stemmers.english.stemWord(word.replace("’", "'")))


class _Stemmers(threading.local):
    """A stemmer keeps the word that it works on in itself: each thread needs its own."""

    def __init__(self) -> None:
        self.english = snowballstemmer.stemmer("english")


_stemmers = _Stemmers()


def sentences(text: str) -> list[str]:
    """The sentences of a text in order, without the white space between them. A line break ends one as well."""
    found = []
    for line in text.splitlines():
        ends = [match.end() for match in SENTENCE_END.finditer(line)]
        found += [line[start:end].strip() for start, end in pairwise([0, *ends, len(line)])]
    return [sentence for sentence in found if sentence]


def content_words(text: str) -> list[str]:
    """Its words without function words, each once; all of them if there are no others."""
    found = list(dict.fromkeys(words(text)))
    return [word for word in found if word not in _FUNCTION_WORDS and len(word) > 1] or found


def stems(text: str) -> Counter[str]:
    """How often each stem occurs."""
    return Counter(stem(word) for word in words(text))


def stems_among(text: str, wanted: Iterable[str]) -> Counter[str]:
    """As stems, but only the wanted ones. Words that begin otherwise are not stemmed: most of a long text."""
    chosen = frozenset(wanted)
    beginnings = frozenset(each[:3] for each in chosen)
    found = (stem(word) for word in words(text) if word[:3] in beginnings)
    return Counter(each for each in found if each in chosen)


def bm25(query: str, texts: Sequence[str]) -> list[float]:
    """How well each text matches any of the query's content words (Robertson & Zaragoza, 2009), 0 for not at all.

    What is rare and what is long is judged among these texts alone.
    """
    wanted = {stem(word) for word in content_words(query)}
    counts = [stems_among(text, wanted) for text in texts]
    lengths = [len(text) or 1 for text in texts]
    mean = sum(lengths) / max(1, len(lengths))
    holding = Counter(each for count in counts for each in count)
    rarity = {each: math.log(1 + (len(texts) - held + 0.5) / (held + 0.5)) for each, held in holding.items()}
    return [
        sum(
            rarity[each] * often * (_K1 + 1) / (often + _K1 * (1 - _B + _B * length / mean))
            for each, often in count.items()
        )
        for count, length in zip(counts, lengths, strict=True)
    ]
