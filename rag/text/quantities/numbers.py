"""Numbers in a text, and their values in a form that can be compared."""

import re
from collections.abc import Iterator

from rag.text.names import TOKEN, Mention

from .quantity_words import ENGLISH_NUMBERS, MONTHS

_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_DATE = re.compile(r"\b(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})\b")
_VALUES = {name: str(value) for value, name in enumerate(ENGLISH_NUMBERS)}
_VALUES |= {name: str(value) for value, month in enumerate(MONTHS["english"], start=1) for name in (month, month[:3])}


def find_numbers(text: str) -> Iterator[Mention]:
    """Yield the amounts, years and dates of a text in order."""
    for match in TOKEN.finditer(text):
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
