"""Words and their stems: what ranking, grounding and quoting compare texts by, besides their meaning.

`lang` is a text's language as its document has it; where it is unknown, or none of Snowball's, English rules hold.
"""

import functools
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import snowballstemmer

from . import languages
from .function_words import FUNCTION_WORDS

# Possessive, and only at the start of a run: what does not match is left after one look at it.
SENTENCE_END = re.compile(r"(?<![.!?])[.!?]++[\"'”’)\]]*+\s++|[。！？]++\s*+")
# What `\w` leaves out: vowel signs and the like, which stand inside words of many scripts, and the joiners.
_MARKS = "".join(map(chr, (each for each in range(0x300, 0x10000) if unicodedata.category(chr(each)) in ("Mn", "Mc"))))
LETTERS = rf"(?:[^\W_][{_MARKS}\u200c\u200d]*)+"
_WORD = re.compile(rf"{LETTERS}(?:['’]{LETTERS})*")
_WORD_WITHOUT_APOSTROPHE = re.compile(LETTERS)
# Scripts that put no space between words: Thai, Lao, Burmese, Khmer, Kana, Han.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d"
    "\U00020000-\U0003ffff"
)
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_RUNS = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_ENGLISH = FUNCTION_WORDS["english"]
_OTHER_SCRIPTS = frozenset({"arabic", "armenian", "greek", "hindi", "nepali", "persian", "russian", "tamil", "yiddish"})
# Stemming takes time by the square of a word's length, and stems are remembered.
_MOST_LETTERS = 64


def split_words(text: str, lang: str = "") -> list[str]:
    """The words of a text in lower case, in order; of a very long one its beginning.

    In English an apostrophe is inside a word, elsewhere between two: l'hôtel, dell'azienda.
    """
    pattern = _WORD if _algorithm(lang) == "english" else _WORD_WITHOUT_APOSTROPHE
    found = pattern.findall(text.lower())
    if not text.isascii() and is_unspaced(text):
        found = [part for word in found for part in character_bigrams(word)]
    return [word[:_MOST_LETTERS] for word in found]


def is_unspaced(text: str) -> bool:
    """Whether it has letters of a script that puts no space between words."""
    return bool(_IS_UNSPACED.search(text))


def character_bigrams(word: str) -> list[str]:
    """What stands in for words where none are set apart: every two letters beside each other, as search engines do it.
    Of other scripts the word itself."""
    found = []
    for run in _RUNS.findall(word):
        if is_unspaced(run):
            found += [run[index : index + 2] for index in range(len(run) - 1)] or [run]
        else:
            found.append(run)
    return found


def stem(word: str, lang: str = "") -> str:
    return _stem(word, _algorithm(lang))


@functools.lru_cache(maxsize=50_000)
def _stem(word: str, algorithm: str) -> str:
    # As PostgreSQL does: a word in Latin letters in a Russian text is stemmed as an English one.
    foreign = algorithm in _OTHER_SCRIPTS and word.isascii()
    return str(_stemmers.named("english" if foreign else algorithm).stemWord(word.replace("’", "'")))


def _algorithm(lang: str) -> str:
    return languages.snowball_algorithm(lang) or "english"


class _Stemmers(threading.local):
    """A stemmer keeps the word that it works on in itself: each thread needs its own."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def named(self, algorithm: str) -> Any:
        if algorithm not in self._made:
            self._made[algorithm] = snowballstemmer.stemmer(algorithm)
        return self._made[algorithm]


_stemmers = _Stemmers()


def query_language(text: str, langs: Sequence[str]) -> str:
    """Of a question about texts of these languages, or an answer from them: its own if that can be told, else theirs.

    Where they are all English or unknown nothing is looked for.
    """
    others = Counter(lang for lang in langs if _algorithm(lang) != "english")
    if not others:
        return ""
    return languages.detect_language(text) or others.most_common(1)[0][0]


def split_sentences(text: str) -> list[str]:
    """The sentences of a text in order, without the white space between them. A line break ends one as well."""
    return [text[start:end] for start, end in sentence_spans(text)]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Where each of its sentences begins and ends."""
    found, line_start = [], 0
    for line in text.splitlines(keepends=True):
        ends = [match.end() for match in SENTENCE_END.finditer(line)]
        for start, end in pairwise([0, *ends, len(line)]):
            whole = line[start:end]
            if stripped := whole.strip():
                begin = line_start + start + len(whole) - len(whole.lstrip())
                found.append((begin, begin + len(stripped)))
        line_start += len(line)
    return found


def is_function_word(word: str, lang: str = "") -> bool:
    return len(word) <= 1 or word in FUNCTION_WORDS.get(_algorithm(lang), _ENGLISH)


def content_words(text: str, lang: str = "") -> list[str]:
    """Its words without function words, each once; all of them if there are no others."""
    found = list(dict.fromkeys(split_words(text, lang)))
    return [word for word in found if not is_function_word(word, lang)] or found


def stems(text: str, lang: str = "") -> Counter[str]:
    """How often each stem occurs."""
    return Counter(stem(word, lang) for word in split_words(text, lang))


def stems_among(text: str, wanted: Iterable[str], lang: str = "") -> Counter[str]:
    """As stems, but only the wanted ones. Words that begin otherwise are not stemmed: most of a long text."""
    chosen, algorithm = frozenset(wanted), _algorithm(lang)
    found = split_words(text, lang)
    if algorithm == "english":  # others cut beginnings off, or change their letters
        beginnings = frozenset(each[:3] for each in chosen)
        found = [word for word in found if word[:3] in beginnings]
    return Counter(each for word in found if (each := _stem(word, algorithm)) in chosen)
