"""Encodings that are recognised by whether their letters form words of one language. A few letters suffice.

The bytes of "ä" in DOS are a quotation mark in Windows, which never stands within a word. Byte frequencies, which other
detectors compare, need longer texts.
"""

import re
from collections import Counter
from dataclasses import dataclass

from rag.text.function_words import FUNCTION_WORDS

# The most common one first; all have one byte for each character.
_WESTERN = ("cp1252", "cp850", "mac_roman")
_CYRILLIC = ("cp1251", "koi8_r", "cp866")
# The letters of a language that are not ASCII, some words from others included.
_LETTERS = {
    "english": "éèêëïçñöü", "german": "äöüßé", "french": "àâçéèêëîïôûùüœæÿ", "spanish": "áéíóúüñ",
    "italian": "àèéìíòóùú", "portuguese": "áâãàçéêíóôõúü", "dutch": "éèêëïöüç", "swedish": "åäöé", "danish": "åæøé",
    "norwegian": "åæøéòôóè", "finnish": "åäö", "icelandic": "áðéíóúýþæö",
}  # fmt: skip
# Symbols that may stand between two letters, before one and after one; the others may stand beside none.
_BETWEEN_LETTERS = frozenset("’–—\u00a0\u00ad")
_QUOTES_AND_DASHES = frozenset("“”„‘’‚«»‹›–—…\u00a0")
_BEFORE_LETTER = _QUOTES_AND_DASHES | frozenset("¡¿§£€°•")
_AFTER_LETTER = _QUOTES_AND_DASHES | frozenset("™®°ªº²³¹£€")
_SYMBOLS_OF_RUSSIAN = _QUOTES_AND_DASHES | frozenset("№§°")
_SINGLE = frozenset("©±×÷†‰¼½¾")
_CLOSING = {"„": '“”"', "‚": "‘’'"}
_FOREIGN = re.compile(r"[^\x00-\x7f]")
_ASCII_LETTER = re.compile(r"[A-Za-z]")
# Words with letters that are not ASCII.
_FOREIGN_WORD = re.compile(r"\b[0-9A-Za-z_]*+[^\W\x00-\x7f]\w*")
_RUSSIAN_WORD, _MIN_SHARE = re.compile("[А-ЯЁ]?[а-яё]*|[А-ЯЁ]+"), 0.85
# How many words must look Russian; fewer are enough if all of them do.
_MIN_WORDS, _MIN_CLEAR_WORDS = 8, 3
_WORD = re.compile(r"[^\W\d_]+")
# How much of the characters may be wrong for a language: names of others.
_MAX_WRONG = 0.05
# One of so many words is at least a function word in most texts.
_WORDS_PER_FUNCTION_WORD = 4
_FRENCH_WORDS = FUNCTION_WORDS["french"] | {"à"}


def find_western_encoding(sample: bytes) -> str:
    """Return the encoding in which a text in Latin letters reads as a language of Western Europe; empty if none."""
    readings = _western_readings(sample)
    fits = [reading for reading in readings if reading.wrong <= reading.foreign * _MAX_WRONG]
    best = max(fits, key=lambda reading: (reading.function_words, reading.letters), default=None)
    if best is None:
        return ""
    usual = [reading for reading in readings if reading.encoding == _WESTERN[0]]
    if usual and not usual[0].misplaced and best.function_words * _WORDS_PER_FUNCTION_WORD < best.words:
        return _WESTERN[0] if any(reading.encoding == _WESTERN[0] for reading in fits) else ""
    return best.encoding


def best_western_encoding(sample: bytes) -> str:
    """Return the encoding of Western Europe with the fewest characters that cannot stand where they stand."""
    best = min(_western_readings(sample), key=lambda reading: reading.misplaced, default=None)
    return best.encoding if best else _WESTERN[0]


def find_cyrillic_encoding(sample: bytes) -> str:
    """Return the encoding in which a text reads as Russian; empty if none does.

    KOI8-R has the capital letters where other encodings have the small ones, so that only its own texts look like
    words. In short texts, and in those in capitals, words such as "и" must occur, too.
    """
    counts = {name: _count_russian_words(_decode(sample, name)) for name in _CYRILLIC}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] != (0, 0) else ""


def is_latin_text(decoded: str) -> bool:
    """Return whether a decoded text is Latin with a few foreign characters that stand within its words, as "M꼛z"."""
    foreign = [match.start() for match in _FOREIGN.finditer(decoded)]
    if len(foreign) * 2 > len(_ASCII_LETTER.findall(decoded)):
        return False
    within = sum(1 for at in foreign if _ASCII_LETTER.search(decoded[max(0, at - 1) : at + 2]))
    return within * 2 > len(foreign)


def _decode(sample: bytes, encoding: str) -> str:
    try:
        return sample.decode(encoding)
    except UnicodeDecodeError:
        return ""


@dataclass(frozen=True, slots=True)
class _Reading:
    """A text as it reads in one encoding and one language.

    Attributes:
        foreign: How many characters are not ASCII.
        letters: How many of them are letters.
        misplaced: How many of them cannot stand where they stand, in any language.
        wrong: How many are misplaced, or are letters of other languages.
    """

    encoding: str
    foreign: int
    letters: int
    misplaced: int
    wrong: int
    words: int
    function_words: int


def _western_readings(sample: bytes) -> list[_Reading]:
    readings: list[_Reading] = []
    for encoding in _WESTERN:
        decoded = _decode(sample, encoding)
        foreign = [match.start() for match in _FOREIGN.finditer(decoded)]
        if not foreign or len(foreign) > len(_ASCII_LETTER.findall(decoded)):
            continue
        misplaced = sum(1 for at in foreign if is_misplaced(decoded, at))
        letters = Counter(decoded[at].lower() for at in foreign if decoded[at].isalpha())
        words = Counter(_WORD.findall(decoded.lower()))
        for language, own_letters in _LETTERS.items():
            wrong = misplaced + sum(count for letter, count in letters.items() if letter not in own_letters)
            function_words = _FRENCH_WORDS if language == "french" else FUNCTION_WORDS.get(language, ())
            known = sum(words[word] for word in function_words)
            readings.append(_Reading(encoding, len(foreign), letters.total(), misplaced, wrong, words.total(), known))
    return readings


def is_misplaced(decoded: str, at: int) -> bool:
    """Return whether a character cannot stand where it stands: a capital letter or a symbol within a word."""
    character, before, after = decoded[at], decoded[max(0, at - 1) : at], decoded[at + 1 : at + 2]
    if character.isalpha() and character not in "ªº":
        is_within = before.islower() or (before.isupper() and after.islower())
        return is_within if character.isupper() else after.isupper()
    if closing := _CLOSING.get(character):
        return before.isalpha() or not any(mark in decoded for mark in closing)
    if before.isalpha() and after.isalpha():
        return character not in _BETWEEN_LETTERS
    if before.isalpha():
        return character not in _AFTER_LETTER
    if after.isalpha():
        return character not in _BEFORE_LETTER
    if character in _QUOTES_AND_DASHES:
        return False
    is_known = character in _SINGLE or character in _BEFORE_LETTER or character in _AFTER_LETTER
    return not is_known or not (before + after).isascii()


def _count_russian_words(decoded: str) -> tuple[int, int]:
    """Return how many function words a text has, and how many words; zeros if it is not Russian."""
    foreign = _FOREIGN.findall(decoded)
    symbols = sum(1 for character in foreign if not character.isalpha() and character not in _SYMBOLS_OF_RUSSIAN)
    words = _FOREIGN_WORD.findall(decoded)
    russian = [word for word in words if _RUSSIAN_WORD.fullmatch(word)]
    if symbols > len(foreign) * _MAX_WRONG or len(russian) < len(words) * _MIN_SHARE:
        return 0, 0
    known = sum(1 for word in russian if word.lower() in FUNCTION_WORDS["russian"])
    is_clear = not symbols and len(russian) == len(words) and not any(map(str.isupper, words))
    is_enough = sum(map(str.islower, russian)) >= (_MIN_CLEAR_WORDS if is_clear else _MIN_WORDS)
    return (known, len(russian)) if known or is_enough else (0, 0)
