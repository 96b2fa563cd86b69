"""The values that a text states, each with what it is a value of: "48 hours", "7,90 €", "14:30", "10 June"."""

import re

from .amounts import find_amounts
from .quantity_words import DAYS, MONTHS, UNIT_OF_WORD, any_of

TIME_OF_DAY, WEEKDAY, DATE = "time of day", "weekday", "date"
_MAX_CHARACTERS = 500
_TIME = re.compile(
    r"(?<![\w.,:€£$])(\d{1,2})(?:(?:[:.h]| h )(\d\d)(?!\w|[.,:]\d|\s?[€£$%])|\s?(?:uhr|uur|[ap]\.?m)\b)", re.IGNORECASE
)
_WEEKDAY = re.compile(rf"\b({any_of(DAYS)})\b", re.IGNORECASE)
# The words of months and days differ between the languages, but a text and its change are mostly in one.
_MONTH_NAMES = any_of(month for months in MONTHS.values() for month in months)
_DATE = re.compile(rf"(?<![\w.])(\d{{1,2}})(?:st|nd|rd|th|er|\.|°|º)? (?:de )?({_MONTH_NAMES})\b", re.IGNORECASE)
# "24 places": a number of something that is no unit.
_COUNT = re.compile(r"(?<![\w.,:/€£$-])(\d{1,6}) ([^\W\d_]{3,20})\b")


def find_values(text: str) -> set[tuple[str, str]]:
    """Return the values of a text, as pairs of a kind and a value.

    The kind is a unit such as "€" or "hour", the noun behind a number, or `TIME_OF_DAY`, `WEEKDAY` or `DATE`.
    """
    text = text[:_MAX_CHARACTERS]
    values = {(TIME_OF_DAY, f"{int(hour)}:{minute or '00'}") for hour, minute in _TIME.findall(text)}
    values |= {(DATE, f"{int(day)} {month.lower()}") for day, month in _DATE.findall(text)}
    values |= {(WEEKDAY, day.lower().removesuffix("s").replace("as-", "a-")) for day in _WEEKDAY.findall(text)}
    rest = _DATE.sub(" ", _TIME.sub(" ", text))
    values |= {(amount.unit, str(amount.value)) for amount in find_amounts(rest)}
    return values | {
        (noun.lower().removesuffix("s"), number)
        for number, noun in _COUNT.findall(rest)
        if noun.lower() not in UNIT_OF_WORD
    }
