"""Amounts in texts, such as "12,000 €" and "7 years", and ranges of them: "over 20 € up to 100 €".

English, German, French and Spanish are known.
"""

import math
import re
from dataclasses import dataclass

_MAX_CHARACTERS = 500
_NUMBER = re.compile(r"\d{1,3}(?:[.,'’ \u00a0\u202f]\d{3})+(?!\d)(?:[.,]\d{1,2}(?!\d))?|\d+(?:[.,]\d+)?")
_GROUPED = re.compile(r"(\d{1,3}(?:[.,'’ \u00a0\u202f]\d{3})+)(?:[.,](\d{1,2}))?")
_UNITS = {
    "€": "€ eur euro euros",
    "$": "$ usd dollar dollars",
    "£": "£ gbp pound pounds",
    "chf": "chf franken",
    "%": "% percent prozent",
    "kg": "kg kilo kilos kilogram kilograms kilogramm",
    "g": "g gram grams gramm",
    "t": "t tonne tonnes ton tons tonnen",
    "km": "km kilometre kilometres kilometer kilometers kilomètres kilómetros",
    "m": "m metre metres meter meters mètre mètres metro metros",
    "cm": "cm",
    "mm": "mm",
    "l": "l litre litres liter liters litro litros",
    "kw": "kw",
    "kwh": "kwh",
    "°c": "°c",
    "year": "year years old age aged jahr jahre jahren alter an ans âge année années año años edad",
    "month": "month months monat monate monaten mois mes meses",
    "week": "week weeks woche wochen semaine semaines semana semanas",
    "day": "day days tag tage tagen jour jours día días",
    "hour": "h hour hours stunde stunden std heure heures hora horas",
    "minute": "min minute minutes minuten minuto minutos",
    "person": "person persons people personen personne personnes persona personas pax",
}
_UNIT_OF_WORD = {word: unit for unit, words in _UNITS.items() for word in words.split()}
_WORD = re.compile(r"[^\W\d_]+|[€$£%]|°c", re.IGNORECASE)
_UNIT_BEFORE = re.compile(r"(?:(?<!\w)(?:eur|usd|gbp|chf)|[€$£])\s?$", re.IGNORECASE)
_UNIT_AFTER = re.compile(r"[\s-]?(°c|[€$£%]|[^\W\d_]{1,12}(?:-old)?)", re.IGNORECASE)
# What stands before a bound of a range. A longer one is named before one that it begins with.
_ABOVE = r"more than|greater than|over|above|exceeding|über|mehr als|plus de|au-dessus de|más de|superior(?:es)? a|>"
_FROM = (
    r"at least|starting at|between|from|minimum|ab|von|mindestens|zwischen|à partir de|au moins|entre|dès|de|du|desde"
    r"|a partir de|al menos|≥|>="
)
_UP_TO = (
    r"up to|at most|no more than|not more than|maximum|max\.?|until|through|to|and|bis zu|bis|höchstens|maximal|und"
    r"|jusqu['’]à|jusqu['’]au|au plus|à|au|et|hasta|como máximo|a|y|≤|<=|–|-"
)
_BELOW = r"less than|fewer than|under|below|unter|weniger als|moins de|menos de|inférieure? à|inferior(?:es)? a|<"
_OPERATORS = {
    name: re.compile(rf"(?:(?<!\w)|(?<=\d))(?:{words})\s*$", re.IGNORECASE)
    for name, words in (("below", _BELOW), ("above", _ABOVE), ("from", _FROM), ("up to", _UP_TO))
}
_OR_MORE = re.compile(
    r"\s*(?:\+|(?:and|or) (?:more|over|above|older|up)|(?:und|oder) (?:mehr|älter|darüber)|(?:et|ou) plus|(?:y|o) más)",
    re.IGNORECASE,
)
_OR_LESS = re.compile(
    r"\s*(?:(?:and|or) (?:less|under|below|fewer|younger)|(?:und|oder) (?:weniger|jünger|darunter)|(?:et|ou) moins"
    r"|(?:y|o) menos)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with its unit, such as "€", "kg" or "year"; the unit is empty if none is named."""

    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class AmountRange:
    """The numbers from `low` to `high`; a bound is infinite if the range has none."""

    low: float
    high: float
    unit: str
    has_low: bool = True
    has_high: bool = True

    def contains(self, amount: Amount) -> bool:
        """Return whether an amount of the same unit is in the range."""
        value = amount.value
        return (
            amount.unit == self.unit and (self.low < value < self.high or (value == self.low and self.has_low))
        ) or (amount.unit == self.unit and value == self.high and self.has_high)


def find_amounts(text: str) -> list[Amount]:
    """Return the numbers of a text that have a known unit, in order."""
    return [amount for amount, _, _ in _find_numbers(text) if amount.unit]


def find_unit(text: str) -> str:
    """Return the first known unit that a text names, such as that of a column "Order value (€)"; empty if none."""
    words = _WORD.findall(text[:_MAX_CHARACTERS].lower())
    return next((_UNIT_OF_WORD[word] for word in words if word in _UNIT_OF_WORD), "")


def parse_range(text: str, unit: str = "") -> AmountRange | None:
    """Return the range of amounts that a text states, such as "over 20 € up to 100 €", "5–10 kg" or "70 and over".

    Args:
        text: The text, such as a cell of a table.
        unit: The unit of numbers that have none.

    Returns:
        None if the text has no numbers, more than two, or one without a word that makes it the bound of a range.
    """
    numbers = _find_numbers(text)
    if not 1 <= len(numbers) <= 2:
        return None
    unit = next((amount.unit for amount, _, _ in numbers if amount.unit), unit)
    bounds = []
    previous_end = 0
    for amount, start, end in numbers:
        bounds.append((_operator(text[previous_end:start]), amount.value))
        previous_end = end
    rest = text[previous_end:]
    if len(bounds) == 2:
        return _between(*bounds[0], *bounds[1], unit)
    operator, value = bounds[0]
    if operator == "above" or operator == "from" or _OR_MORE.match(rest):
        return AmountRange(value, math.inf, unit, has_low=operator != "above")
    if operator in ("up to", "below") or _OR_LESS.match(rest):
        return AmountRange(-math.inf, value, unit, has_high=operator != "below")
    return None


def _between(first_operator: str, low: float, second_operator: str, high: float, unit: str) -> AmountRange | None:
    if first_operator not in ("", "from", "above") or second_operator not in ("up to", "below") or low > high:
        return None
    return AmountRange(low, high, unit, has_low=first_operator != "above", has_high=second_operator != "below")


def _operator(before: str) -> str:
    """Return the kind of bound that the words before a number make it; empty if none."""
    before = _UNIT_BEFORE.sub("", before)
    return next((name for name, pattern in _OPERATORS.items() if pattern.search(before)), "")


def _find_numbers(text: str) -> list[tuple[Amount, int, int]]:
    """Return the numbers with their start and the end of their unit."""
    text = text[:_MAX_CHARACTERS]
    numbers = []
    for match in _NUMBER.finditer(text):
        before = _UNIT_BEFORE.search(text, max(0, match.start() - 5), match.start())
        after = _UNIT_AFTER.match(text, match.end())
        unit = _unit_of(before.group()) if before else ""
        end = match.end()
        if after and (own_unit := _unit_of(after[1].removesuffix("-old"))):
            unit, end = unit or own_unit, after.end()
        numbers.append((Amount(_to_float(match.group()), unit), match.start(), end))
    return numbers


def _unit_of(word: str) -> str:
    return _UNIT_OF_WORD.get(word.strip().lower(), "")


def _to_float(number: str) -> float:
    if grouped := _GROUPED.fullmatch(number):
        whole = "".join(filter(str.isdigit, grouped[1]))
        return float(f"{whole}.{grouped[2] or 0}")
    return float(number.replace(",", "."))
