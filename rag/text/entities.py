"""Names, identifiers and numbers in a text, recognized by their spelling.

Works in all scripts that have capital letters. In German, where all nouns are capitalized, nouns count as names.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .function_words import FUNCTION_WORDS
from .quantities.quantity_words import ENGLISH_NUMBERS, MONTHS

# A word with inner punctuation: run_target, 1,204.50, 2009-12-31, O'Brien's.
_TOKEN = re.compile(r"\w+(?:[.,:/’'-]\w+)*")
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_INNER_CAPITAL = re.compile(r"[^\W\d_][^\W\d_]*?(?<=[a-z])[A-Z]")
_SENTENCE_START = re.compile(r"(?:\A|[.!?:\n]|[\"“„«(])\s*\Z")
_FUNCTION_WORDS = FUNCTION_WORDS["english"]
_DATE = re.compile(r"\b(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})\b")
_VALUES = {name: str(value) for value, name in enumerate(ENGLISH_NUMBERS)}
_VALUES |= {name: str(value) for value, month in enumerate(MONTHS["english"], start=1) for name in (month, month[:3])}


@dataclass(frozen=True, slots=True)
class Mention:
    """A name or number as it is written at the character offsets `start` to `end` (exclusive) of a text."""

    text: str
    start: int
    end: int


def find_names(text: str) -> Iterator[Mention]:
    """Yield the names and identifiers of a text in order, each word on its own.

    That is: capitalized words, unless they begin a sentence; words in capitals; identifiers such as run_target or
    DiffExecutor.
    """
    for match in _TOKEN.finditer(text):
        if _is_name(match.group(), text, match.start()):
            yield Mention(match.group(), match.start(), match.end())


def find_numbers(text: str) -> Iterator[Mention]:
    """Yield the amounts, years and dates of a text in order."""
    for match in _TOKEN.finditer(text):
        if match.group()[0].isdigit():
            yield Mention(match.group(), match.start(), match.end())


def normalized_numbers(text: str) -> set[str]:
    """Return the numbers of a text in a form that can be compared.

    1,204.50 becomes 1204.5, 7th becomes 7, a date becomes its parts. English names of months and small numbers count
    as numbers, too.
    """
    dates = _DATE.findall(text)
    values = {part.lstrip("0") or "0" for date in dates for part in re.findall(r"\d+", date)}
    values |= {normalize_number(number) for number in _DIGITS.findall(_DATE.sub(" ", text) if dates else text)}
    return values | {_VALUES[word] for word in re.findall(r"[a-z]+", text.lower()) if word in _VALUES}


def normalize_number(number: str) -> str:
    """Remove thousands separators and trailing zeros of the fraction from a number."""
    whole = re.sub(r"(?<=\d)[,.](?=\d{3}(?:\D|$))", "", number)
    if re.search(r"[.,]", whole):
        return whole.replace(",", ".").rstrip("0").rstrip(".").lstrip("0") or "0"
    return whole.lstrip("0") or "0"


def _is_name(word: str, text: str, start: int) -> bool:
    if word[0].isdigit():
        return False
    if "_" in word.strip("_") or _INNER_CAPITAL.match(word) or any(character.isdigit() for character in word):
        return True
    letters = re.split(r"[’']", word)[0]
    if len(letters) > 1 and letters.isupper():
        return True
    return word[0].isupper() and word.lower() not in _FUNCTION_WORDS and not _SENTENCE_START.search(text[:start][-8:])
