"""Words of a text, and their stems.

`lang` is a language as documents declare it (rag.text.languages). If it is empty, or Snowball has no algorithm for it,
the text is treated as English.

Stems are computed in process with snowballstemmer. The chunk store does not use them: it stems in the database with
PostgreSQL's dictionaries, so that its index and its queries agree.
"""

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Set
from typing import Protocol

import snowballstemmer

from . import languages
from .function_words import FUNCTION_WORDS
from .irregular_words import basic_form, german_basic_form
from .sentences.unspaced_scripts import UNSPACED

# Combining marks (vowel signs and the like), which are part of words in many scripts but not of `\w`; so are joiners.
_MARKS = "".join(
    character for character in map(chr, range(0x300, 0x10000)) if unicodedata.category(character) in ("Mn", "Mc")
)
LETTERS = rf"(?:[^\W_][{_MARKS}\u200c\u200d]*)+"
_WORD = re.compile(rf"{LETTERS}(?:['’]{LETTERS})*")
_WORD_WITHOUT_APOSTROPHE = re.compile(LETTERS)
# The same words of a text in ASCII take a quarter of the time where everything else is a space, and those of a text
# without combining marks half of it. No group is possessive: Python 3.11.2 would keep what its last attempt has
# matched, as the apostrophe of "boys' ".
_LETTERS_OF_WORDS = b"abcdefghijklmnopqrstuvwxyz0123456789"
_ASCII_WORDS = bytes(code if code in _LETTERS_OF_WORDS else ord(" ") for code in range(256))
_ASCII_WORDS_WITH_APOSTROPHES = bytes(code if code == ord("'") else _ASCII_WORDS[code] for code in range(256))
_UNMARKED_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_UNMARKED_WORD_WITHOUT_APOSTROPHE = re.compile(r"[^\W_]+")
_MARK = re.compile(f"[{_MARKS}\u200c\u200d]")
_IS_UNSPACED = re.compile(f"[{UNSPACED}]")
_RUNS = re.compile(f"[{UNSPACED}]+|[^{UNSPACED}]+")
_ENGLISH = FUNCTION_WORDS["english"]
_BASIC_FORMS = {"english": basic_form, "german": german_basic_form}
_OTHER_SCRIPTS = frozenset({"arabic", "armenian", "greek", "hindi", "nepali", "persian", "russian", "tamil", "yiddish"})
# Languages whose compounds are one word, and the lengths of the parts of one. Shorter ones are in other words, too.
_COMPOUNDING = frozenset({"danish", "dutch", "german", "norwegian", "swedish"})
_MIN_PART, _MIN_OTHER_PART = 5, 3
# Stemming time grows with the square of a word's length, and stems are kept: 50,000 words are about 7 MB.
_MAX_WORD_CHARACTERS, _MAX_KNOWN_STEMS = 64, 50_000


def split_words(text: str, lang: str = "") -> list[str]:
    """Return the words of a text in lower case, in order; very long words are cut.

    In English an apostrophe is part of a word, in other languages it separates two: l'hôtel, dell'azienda. In scripts
    without spaces, character bigrams take the place of words.
    """
    is_english, is_ascii = _algorithm(lang) == "english", text.isascii()
    lowered = text.lower()  # which may have marks that the text does not have
    if is_ascii:
        words = _split_ascii(lowered, with_apostrophes=is_english)
    elif _MARK.search(lowered):
        words = (_WORD if is_english else _WORD_WITHOUT_APOSTROPHE).findall(lowered)
    else:
        words = (_UNMARKED_WORD if is_english else _UNMARKED_WORD_WITHOUT_APOSTROPHE).findall(lowered)
    if not is_ascii and is_unspaced(text):
        words = [bigram for word in words for bigram in character_bigrams(word)]
    if max(map(len, words), default=0) > _MAX_WORD_CHARACTERS:
        words = [word[:_MAX_WORD_CHARACTERS] for word in words]
    return words


def _split_ascii(lowered: str, *, with_apostrophes: bool) -> list[str]:
    """Return the words of a text in ASCII and in lower case."""
    if not with_apostrophes or "'" not in lowered:
        return lowered.encode().translate(_ASCII_WORDS).decode().split()
    spaced = f" {lowered} ".encode().translate(_ASCII_WORDS_WITH_APOSTROPHES)
    for separator in (b"''", b" '", b"' "):  # apostrophes that are not between two letters
        spaced = spaced.replace(separator, b"  ")
    return spaced.decode().split()


def is_unspaced(text: str) -> bool:
    """Return whether a text has letters of a script without spaces between words."""
    return bool(_IS_UNSPACED.search(text))


def character_bigrams(word: str) -> list[str]:
    """Return each pair of adjacent characters, as search engines index scripts without spaces.

    Parts of the word in other scripts are returned whole.
    """
    parts = []
    for run in _RUNS.findall(word):
        if is_unspaced(run):
            parts += [run[index : index + 2] for index in range(len(run) - 1)] or [run]
        else:
            parts.append(run)
    return parts


def stem(word: str, lang: str = "") -> str:
    """Return the stem of a word in lower case."""
    return _stems_by_algorithm[_algorithm(lang)][word]


class _KnownStems(dict[str, str]):
    """The stems of words by one algorithm. A word that is missing is stemmed when it is looked up.

    A dictionary, because the words of a whole text are looked up without a call of Python for each.
    """

    def __init__(self, algorithm: str) -> None:
        super().__init__()
        self._algorithm = algorithm

    def __missing__(self, word: str) -> str:
        algorithm = self._algorithm
        # As in PostgreSQL: a word in Latin letters in a Russian text is stemmed as an English one.
        is_foreign = algorithm in _OTHER_SCRIPTS and word.isascii()
        used = "english" if is_foreign else algorithm
        plain = word.replace("’", "'")
        if len(self) >= _MAX_KNOWN_STEMS:
            self.clear()
        basic = _BASIC_FORMS.get(used, str)(plain)
        known = self[word] = _stemmers.get(used).stemWord(basic)
        return known


class _StemsByAlgorithm(dict[str, _KnownStems]):
    """The stems that are known, by Snowball's algorithms."""

    def __missing__(self, algorithm: str) -> _KnownStems:
        return self.setdefault(algorithm, _KnownStems(algorithm))


def _algorithm(lang: str) -> str:
    return languages.snowball_algorithm(lang) or "english"


class _Stemmer(Protocol):
    """A stemmer of the library, which has no types."""

    def stemWord(self, word: str) -> str: ...  # noqa: N802


class _Stemmers(threading.local):
    """Stemmers of the current thread: a stemmer stores the word that it processes, so it cannot be shared."""

    def __init__(self) -> None:
        self._by_algorithm: dict[str, _Stemmer] = {}

    def get(self, algorithm: str) -> _Stemmer:
        if algorithm not in self._by_algorithm:
            self._by_algorithm[algorithm] = snowballstemmer.stemmer(algorithm)
        return self._by_algorithm[algorithm]


_stemmers, _stems_by_algorithm = _Stemmers(), _StemsByAlgorithm()


def is_function_word(word: str, lang: str = "") -> bool:
    """Return whether a word is a stop word of the language, or a single character."""
    return len(word) <= 1 or word in FUNCTION_WORDS.get(_algorithm(lang), _ENGLISH)


def content_words(text: str, lang: str = "") -> list[str]:
    """Return the distinct words of a text that are not function words; all words if there are no others."""
    words = list(dict.fromkeys(split_words(text, lang)))
    return [word for word in words if not is_function_word(word, lang)] or words


def stems(text: str, lang: str = "") -> Counter[str]:
    """Count the stems of a text."""
    return Counter(map(_stems_by_algorithm[_algorithm(lang)].__getitem__, split_words(text, lang)))


def stems_among(text: str, candidates: Iterable[str], lang: str = "") -> Counter[str]:
    """Count the stems of a text that are candidates (`match_stems`)."""
    text_stems = map(_stems_by_algorithm[_algorithm(lang)].__getitem__, split_words(text, lang))
    if _algorithm(lang) not in _COMPOUNDING:
        return Counter(filter(frozenset(candidates).__contains__, text_stems))
    candidates = frozenset(candidates)
    counts: Counter[str] = Counter()
    for text_stem, count in Counter(text_stems).items():
        counts.update(dict.fromkeys(match_stems(candidates, {text_stem}, lang), count))
    return counts


def match_stems(candidates: Iterable[str], text_stems: Set[str], lang: str = "") -> frozenset[str]:
    """Return the candidates that are among the stems of a text.

    In languages that write compounds as one word, a part of one counts, too: "Vereinsgebühr" for "Gebühr", and
    "Ammoniak" for "Ammoniakprobe".
    """
    candidates = frozenset(candidates)
    same = candidates & text_stems
    if _algorithm(lang) not in _COMPOUNDING:
        return same
    others = [text_stem for text_stem in text_stems - candidates if len(text_stem) >= _MIN_PART]
    return same | {
        candidate
        for candidate in candidates - same
        if any(_is_part(candidate, other) or _is_part(other, candidate) for other in others)
    }


def _is_part(part: str, compound: str) -> bool:
    """Return whether a stem is the first or last part of a compound, and not just a few letters of it."""
    is_part = len(compound) - len(part) >= _MIN_OTHER_PART and len(part) >= _MIN_PART
    return is_part and (compound.startswith(part) or compound.endswith(part))


def as_phrase(text: str) -> str:
    """Return the words of a text in lower case, with a space on both sides of each, so that phrases can be compared.

    Single letters and numbers count, but not the letter of "what's": " aquapur   l " is in the phrase of "The AquaPur
    L?".
    """
    return "".join(f" {word} " for word in split_words(text))
