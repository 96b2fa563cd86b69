"""Amounts in texts, such as "12,000 €" and "7 years", and ranges of them: "over 20 € up to 100 €".

English, German, French, Spanish, Italian, Portuguese and Dutch are known.
"""

import math
import re
from dataclasses import dataclass

from .numbers import with_ascii_digits
from .quantity_words import UNIT_OF_WORD

_MAX_CHARACTERS = 500
_NUMBER = re.compile(r"\d{1,3}(?:[.,'’ \u00a0\u202f]\d{3})+(?!\d)(?:[.,]\d{1,2}(?!\d))?|\d+(?:[.,]\d+)?")
_GROUPED = re.compile(r"(\d{1,3}(?:[.,'’ \u00a0\u202f]\d{3})+)(?:[.,](\d{1,2}))?")
# Names of columns that have a unit without naming it.
_UNIT_OF_COLUMN = dict.fromkeys(("age", "alter", "âge", "edad", "età", "idade", "leeftijd"), "year")
# "Weight (kg)", "Weight in kg"; not "Cost per hour".
_IN_BRACKETS = re.compile(r"[(\[]([^()\[\]]{1,20})[)\]]|\bin ([^\s]{1,12})")
_PER = re.compile(r"\b(?:per|pro|je|par|por|al|alla|ao)\s+\w+|\ball['’]\w+|/\s*\w+", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{2,}|[€$£%]|°c", re.IGNORECASE)
_UNIT_BEFORE = re.compile(r"(?:(?<!\w)(?:eur|usd|gbp|chf)|[€$£])\s?$", re.IGNORECASE)
# No unit: "20 t-shirts", "25 km/h", "60 m2", "5G".
_UNIT_AFTER = re.compile(
    r"[\s-]?(°[cC]|[€$£%]|[^\W\d_A-Z]{1,12}|[A-Z][^\W\d_A-Z]{1,12}|EUR|USD|GBP|CHF|KG)(?:-old)?(?![\w²³/-])"
)
# "€20k", "2 million €", "5 Mio. €"
_MULTIPLIERS = (
    (re.compile(r"\s?(?:thousand|tausend|tsd\.?|mila|duizend)(?!\w)", re.IGNORECASE), 1e3),
    (
        re.compile(
            r"\s?(?:millions?|millionen|mio\.?|millón|millones|milion[ei](?: di)?"
            r"|milh(?:ão|ões)(?: de)?|miljoen)(?!\w)",
            re.IGNORECASE,
        ),
        1e6,
    ),
    (
        re.compile(
            r"\s?(?:billions?|bn|milliarden?|mrd\.?|milliards?|miliard[oi]|miljard|bilh(?:ão|ões))(?!\w)", re.IGNORECASE
        ),
        1e9,
    ),
)
_MULTIPLIERS_OF_MONEY = ((re.compile(r"k(?!\w)", re.IGNORECASE), 1e3), (re.compile(r"m(?!\w)", re.IGNORECASE), 1e6))
# Not the hyphen of "BR-5".
_SIGN = re.compile(r"(?<!\w)(?:[-−–]|(?:minus|moins|menos|meno)\s)$", re.IGNORECASE)
# "1.125 kg" may be a kilogram or a tonne.
_AMBIGUOUS = re.compile(r"[1-9][.,]\d{3}")
_AMBIGUOUS_UNITS = frozenset({"kg", "g", "t", "km", "m", "l"})
# What stands before a bound of a range. A longer one is named before one that it begins with.
_ABOVE = (
    r"more than|greater than|over|above|exceeding|über|mehr als|plus de|au-dessus de|más de|superior(?:es|e|i)? a"
    r"|più di|oltre|mais de|acima de|meer dan|boven|>"
)
_FROM = (
    r"at least|starting at|between|from|minimum|ab|von|mindestens|zwischen|à partir de|au moins|entre|dès|de|du|desde"
    r"|a partir de|al menos|almeno|a partire da|dal|dai|pelo menos|vanaf|minstens|≥|>="
)
_UP_TO = (
    r"up to|at most|maximum|max\.?|until|through|to|and|bis zu|bis|höchstens|maximal|und"
    r"|jusqu['’]à|jusqu['’]au|au plus|à|au|et|hasta|como máximo|a|y"
    r"|fino a|fino ai|al massimo|al|ai|até|ao|no máximo|tot|tot en met|hoogstens|≤|<=|–|-"
)
_BELOW = (
    r"less than|fewer than|under|below|unter|weniger als|moins de|menos de|inférieure? à|inferior(?:es|e|i)? a|meno di"
    r"|sotto i|sotto|abaixo de|minder dan|onder|<"
)
_NOT_ABOVE = (
    r"(?:no|not|nicht|pas|non|não|niet) (?:more than|over|above|mehr als|über|plus de|más de|più di|mais de|meer dan)"
    r"|ne dépassant pas|maximum of"
)
_NOT_BELOW = (
    r"(?:no|not|nicht|pas|non|não|niet) (?:less than|under|below|weniger als|unter|moins de|menos de|meno di"
    r"|minder dan)|minimum of|min\.?"
)
# The negated ones come first, because they end with the others.
_OPERATORS = tuple(
    (name, re.compile(rf"(?:(?<!\w)|(?<=\d))(?:{words})\s*$", re.IGNORECASE))
    for name, words in (
        ("up to", _NOT_ABOVE),
        ("from", _NOT_BELOW),
        ("below", _BELOW),
        ("above", _ABOVE),
        ("from", _FROM),
        ("up to", _UP_TO),
    )
)
_ONLY_BETWEEN = re.compile(r"(?:[–-]|\b(?:al|ai|ao))\s*$", re.IGNORECASE)
_OR_MORE = re.compile(
    r"\s*(?:\+|(?:and|or) (?:more|over|above|older|up)|(?:und|oder) (?:mehr|älter|darüber)|(?:et|ou) plus|(?:y|o) más"
    r"|(?:e|o) (?:più|oltre)|(?:e|ou) mais|(?:en|of) (?:meer|ouder))",
    re.IGNORECASE,
)
_OR_LESS = re.compile(
    r"\s*(?:(?:and|or) (?:less|under|below|fewer|younger)|(?:und|oder) (?:weniger|jünger|darunter)|(?:et|ou) moins"
    r"|(?:y|o) menos|(?:e|o) meno|(?:e|ou) menos|(?:en|of) (?:minder|jonger))",
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
        if amount.unit != self.unit:
            return False
        is_bound = (amount.value == self.low and self.has_low) or (amount.value == self.high and self.has_high)
        return is_bound or self.low < amount.value < self.high


def find_amounts(text: str) -> list[Amount]:
    """Return the numbers of a text that have a known unit, in order."""
    return [amount for amount, _, _ in _find_numbers(text) if amount.unit]


def find_unit(name: str) -> str:
    """Return the unit that a column's name states, such as "Value (€)", "Weight in kg" or "Age"; empty if none."""
    name = name[:_MAX_CHARACTERS].lower()
    stated = _IN_BRACKETS.search(name)
    text = (stated[1] or stated[2]) if stated else _PER.sub(" ", name)
    units = (UNIT_OF_WORD.get(word, _UNIT_OF_COLUMN.get(word, "")) for word in (text, *_WORD.findall(text)))
    return next(filter(None, units), "")


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
    bounds: list[tuple[str, float]] = []
    previous_end = 0
    for amount, start, end in numbers:
        bounds.append((_operator(text[previous_end:start], is_first=not bounds), amount.value))
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


def _operator(before: str, *, is_first: bool) -> str:
    """Return the kind of bound that the words before a number make it; empty if none. Between numbers a dash is one."""
    before = _UNIT_BEFORE.sub("", before)
    if is_first and _ONLY_BETWEEN.search(before):
        return ""
    return next((name for name, pattern in _OPERATORS if pattern.search(before)), "")


def _find_numbers(text: str) -> list[tuple[Amount, int, int]]:
    """Return the numbers with their start, sign included, and the end of their unit."""
    text = with_ascii_digits(text[:_MAX_CHARACTERS])
    numbers: list[tuple[Amount, int, int]] = []
    for match in _NUMBER.finditer(text):
        if numbers and match.start() < numbers[-1][2]:
            continue
        start, value = match.start(), _to_float(match.group())
        before = _UNIT_BEFORE.search(text, max(0, start - 5), start)
        unit = _unit_of(before.group()) if before else ""
        factor, end = _multiplier(text, match.end(), is_money=bool(unit))
        if unit and end < len(text) and text[end].isalpha():  # "€20x": something else
            unit = ""
        after = _UNIT_AFTER.match(text, end)
        if after and (own_unit := _unit_of(after[1])):
            unit, end = unit or own_unit, after.end()
        if unit in _AMBIGUOUS_UNITS and _AMBIGUOUS.fullmatch(match.group()):
            unit = ""
        sign = _SIGN.search(text, max(0, start - 7), start)
        if sign and not (numbers and numbers[-1][2] == len(text[: sign.start()].rstrip())):
            start, value = sign.start(), -value
        numbers.append((Amount(value * factor, unit), start, end))
    return numbers


def _multiplier(text: str, end: int, *, is_money: bool) -> tuple[float, int]:
    """Return what a number is multiplied by ("2 million", "€20k"), and where that ends."""
    for pattern, factor in (*_MULTIPLIERS, *(_MULTIPLIERS_OF_MONEY if is_money else ())):
        if match := pattern.match(text, end):
            return factor, match.end()
    return 1.0, end


def _unit_of(word: str) -> str:
    return UNIT_OF_WORD.get(word.strip().lower(), "")


def _to_float(number: str) -> float:
    grouped = _GROUPED.fullmatch(number)
    if grouped and not number.startswith("0"):
        whole = "".join(filter(str.isdigit, grouped[1]))
        return float(f"{whole}.{grouped[2] or 0}")
    whole, *decimals = re.split(r"\D", number)
    return float(f"{whole}.{''.join(decimals) or 0}")
