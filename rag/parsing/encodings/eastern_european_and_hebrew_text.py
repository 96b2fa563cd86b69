"""Encodings of Central and Eastern Europe, of Turkish and of Hebrew, recognised by the letters of their languages."""

import re
from dataclasses import dataclass

from .western_and_cyrillic_text import is_misplaced

_CENTRAL = ("cp1250", "iso8859_2")
_BALTIC = ("cp1257", "iso8859_13")
# The letters of a language that are not ASCII, its encodings, and words that most of its texts have.
_LANGUAGES = {
    "polish": ("ąćęłńóśźż", _CENTRAL, "i w na z do się nie jest o że po za od dla oraz"),
    "czech": ("áčďéěíňóřšťúůýž", _CENTRAL, "a v na se je z do pro že si k s nebo od jako"),
    "slovak": ("áäčďéíĺľňóôŕšťúýž", _CENTRAL, "a v na sa je z do pre že si k s alebo od ako"),
    "hungarian": ("áéíóöőúüű", (*_CENTRAL, "cp1252"), "a az és hogy nem is egy meg ez de van volt"),
    "croatian": ("čćđšž", _CENTRAL, "i u je na se da za su od s ne koji kao ili"),
    "slovenian": ("čšž", _CENTRAL, "in je na se v za da so z ne ki pa ali"),
    "romanian": ("ăâîşţ", _CENTRAL, "și şi de în la a cu pe nu o din care pentru"),
    "lithuanian": ("ąčęėįšųūž", _BALTIC, "ir yra į su kad iš bei ar apie nuo"),
    "latvian": ("āčēģīķļņšūž", _BALTIC, "un ir ar no uz par kas tas vai arī"),
    "estonian": ("äöüõšž", (*_BALTIC, "cp1252"), "ja on ei et see kui ka või"),
    "turkish": ("çğıöşüâîû", ("cp1254",), "ve bir bu da de için ile olarak çok daha gibi"),
}
# The capital of "i" in Turkish has a dot, which is a letter of its fitting when made small.
_DOT = "\u0307"
_MAX_WRONG, _MIN_LETTERS, _MIN_LETTERS_WITHOUT_WORDS = 0.05, 4, 8
_FOREIGN, _ASCII_LETTER = re.compile(r"[^\x00-\x7f]"), re.compile(r"[A-Za-z]")
_WORD = re.compile(r"[^\W\d_]+")
# Hebrew has five letters that are only at the end of a word. Russian text has letters that are none in its encoding.
_HEBREW, _HEBREW_WORD = "cp1255", re.compile("[\u05d0-\u05ea]+")
# What no word has: such a letter before another one, or Latin letters beside Hebrew ones.
_NO_WORD = re.compile("[\u05da\u05dd\u05df\u05e3\u05e5][\u05d0-\u05ea]|[A-Za-z][\u05d0-\u05ea]|[\u05d0-\u05ea][A-Za-z]")
_MIN_HEBREW_WORDS = 4


@dataclass(frozen=True, slots=True)
class _Reading:
    encoding: str
    known_words: int
    letters: int


def find_other_encoding(sample: bytes) -> str:
    """Return the encoding in which a text in Latin letters reads as one of these languages; empty if none does."""
    readings = [
        reading
        for letters, encodings, words in _LANGUAGES.values()
        for encoding in encodings
        if (reading := _read(sample, encoding, frozenset(letters), frozenset(words.split())))
    ]
    best = max(readings, key=lambda reading: (reading.known_words, reading.letters), default=None)
    return best.encoding if best else ""


def find_hebrew_encoding(sample: bytes) -> str:
    """Return the encoding of Hebrew if a text reads as Hebrew; else an empty text."""
    try:
        decoded = sample.decode(_HEBREW)
    except UnicodeDecodeError:
        return ""
    foreign = _FOREIGN.findall(decoded)
    words = _HEBREW_WORD.findall(decoded)
    letters = sum(map(len, words))
    is_hebrew = letters >= (1 - _MAX_WRONG) * len(foreign) and len(words) >= _MIN_HEBREW_WORDS
    return _HEBREW if is_hebrew and not _NO_WORD.search(decoded) else ""


def _read(sample: bytes, encoding: str, letters: frozenset[str], words: frozenset[str]) -> _Reading | None:
    try:
        decoded = sample.decode(encoding)
    except UnicodeDecodeError:
        return None
    foreign = [match.start() for match in _FOREIGN.finditer(decoded)]
    if len(foreign) < _MIN_LETTERS or len(foreign) > len(_ASCII_LETTER.findall(decoded)):
        return None
    fitting = sum(decoded[at].lower().rstrip(_DOT) in letters for at in foreign)
    wrong = sum(
        is_misplaced(decoded, at)
        or (decoded[at].isalpha() and decoded[at] != "İ" and decoded[at].lower() not in letters)
        for at in foreign
    )
    known_words = sum(word in words for word in _WORD.findall(decoded.lower()))
    is_enough = fitting >= (_MIN_LETTERS if known_words else _MIN_LETTERS_WITHOUT_WORDS)
    return _Reading(encoding, known_words, fitting) if is_enough and wrong <= _MAX_WRONG * len(foreign) else None
