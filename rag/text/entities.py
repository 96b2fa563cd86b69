"""Names, identifiers and numbers in a text: what an answer must not invent, and what a passage must have.

Told by their spelling alone, in every script that has capital letters; where all nouns begin with one, nouns count.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .function_words import FUNCTION_WORDS

# A word as it is written: run_target, 1,204.50, 2009-12-31, O'Brien's.
_WRITTEN = re.compile(r"\w+(?:[.,:/’'-]\w+)*")
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_INNER_CAPITAL = re.compile(r"[^\W\d_][^\W\d_]*?(?<=[a-z])[A-Z]")
_SENTENCE_START = re.compile(r"(?:\A|[.!?:\n]|[\"“„«(])\s*\Z")
_FUNCTION_WORDS = FUNCTION_WORDS["english"]
_MONTHS = "january february march april may june july august september october november december"
_DATE = re.compile(r"\b(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})\b")
_COUNTED = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
_VALUES = {name: str(value) for value, name in enumerate(_COUNTED.split())}
_VALUES |= {name: str(value) for value, month in enumerate(_MONTHS.split(), start=1) for name in (month, month[:3])}


@dataclass(frozen=True, slots=True)
class Mention:
    """text: as it is written, at start … end."""

    text: str
    start: int
    end: int


def find_names(text: str) -> Iterator[Mention]:
    """Names and identifiers, in order: words with a capital that does not begin a sentence, words all in capitals, and
    run_target or DiffExecutor. Each word on its own."""
    for match in _WRITTEN.finditer(text):
        if _is_name(match.group(), text, match.start()):
            yield Mention(match.group(), match.start(), match.end())


def find_numbers(text: str) -> Iterator[Mention]:
    """Whatever has digits and is no identifier, in order: amounts, years, dates."""
    for match in _WRITTEN.finditer(text):
        if match.group()[0].isdigit():
            yield Mention(match.group(), match.start(), match.end())


def normalized_numbers(text: str) -> set[str]:
    """Every number of a text as it compares: 1,204.50 as 1204.5, the 7th as 7, a date as its parts. Months and small
    numbers also where they are English words."""
    dates = _DATE.findall(text)
    found = {part.lstrip("0") or "0" for date in dates for part in re.findall(r"\d+", date)}
    found |= {normalize_number(number) for number in _DIGITS.findall(_DATE.sub(" ", text) if dates else text)}
    return found | {_VALUES[word] for word in re.findall(r"[a-z]+", text.lower()) if word in _VALUES}


def normalize_number(number: str) -> str:
    """A number's digits without separators of thousands and closing zeros."""
    whole = re.sub(r"(?<=\d)[,.](?=\d{3}(?:\D|$))", "", number)
    if re.search(r"[.,]", whole):
        return whole.replace(",", ".").rstrip("0").rstrip(".").lstrip("0") or "0"
    return whole.lstrip("0") or "0"


def _is_name(word: str, text: str, start: int) -> bool:
    if word[0].isdigit():
        return False
    if "_" in word.strip("_") or _INNER_CAPITAL.match(word) or any(each.isdigit() for each in word):
        return True
    letters = re.split(r"[’']", word)[0]
    if len(letters) > 1 and letters.isupper():
        return True
    return word[0].isupper() and word.lower() not in _FUNCTION_WORDS and not _SENTENCE_START.search(text[:start][-8:])
