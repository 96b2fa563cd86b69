"""Numbers in a text, and their values in a form that can be compared."""

import re
from collections.abc import Iterator

from rag.text.languages import snowball_algorithm
from rag.text.names import Mention, find_tokens

from .number_words import NUMBERS_BY_LANGUAGE
from .quantity_words import MONTHS

# Arabic, Indian and wide digits, and the Arabic separators.
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
_SEPARATORS = str.maketrans("٫٬．，", ".,.,")
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_DATE = re.compile(r"\b(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})\b")
# 0.125, 2024.001 and 2.100.3 have no thousands.
_THOUSANDS = re.compile(r"(?<![\w.,])[1-9]\d{0,2}(?:([.,'’\u00a0\u202f])\d{3})(?:\1\d{3})*(?!\d|\1\d)")
_NO_DIGIT = re.compile(r"\D")
# A word, or several with hyphens: twelve, soixante-dix-huit.
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
# "treinta y cinco", "trinta e cinco", "vingt et un" and "vingt-et-un" are one number.
_JOINED = re.compile(
    r"\b(vingt|trente|quarante|cinquante|soixante|treinta|cuarenta|cincuenta|sesenta|setenta|ochenta|noventa"
    r"|vinte|trinta|quarenta|cinquenta|sessenta|oitenta)[ -](?:et|y|e)[ -](?=[^\W\d_])",
    re.IGNORECASE,
)
_VALUES = {
    language: {name: str(value) for name, value in numbers.items()}
    | {month: str(value) for value, month in enumerate(MONTHS[language], start=1)}
    for language, numbers in NUMBERS_BY_LANGUAGE.items()
}
_ENGLISH = _VALUES["english"]
_ENGLISH |= {month[:3]: str(value) for value, month in enumerate(MONTHS["english"], start=1)}


def find_numbers(text: str) -> Iterator[Mention]:
    """Yield the amounts, years and dates of a text in order."""
    for token in find_tokens(text):
        if token.text[0].isdigit():
            yield token


def find_digits(text: str) -> frozenset[str]:
    """Return the numbers of a text that are written in digits, as they are: 4.2 is one, and 2026-01-31 has three."""
    return frozenset(_DIGITS.findall(with_ascii_digits(text)))


def normalized_numbers(text: str, lang: str = "") -> set[str]:
    """Return the numbers of a text in a form that can be compared.

    1,204.50 becomes 1204.5, 7th becomes 7, a date becomes its parts. The names of months and of the numbers below 100
    count as numbers, too, in the languages of `number_words`. Words that are also articles do not, such as "ein".

    Args:
        text: The text.
        lang: The text's language, as documents declare it. Some words are numbers in one language only, such as the
            Spanish "once". English names count in texts of all languages.
    """
    text = with_ascii_digits(text)
    dates = _DATE.findall(text)
    values = {part.lstrip("0") or "0" for date in dates for part in re.findall(r"\d+", date)}
    values |= {normalize_number(number) for number in _DIGITS.findall(_DATE.sub(" ", text) if dates else text)}
    values_of_names = _VALUES.get(snowball_algorithm(lang), _ENGLISH)
    words = _WORD.findall(_JOINED.sub(r"\1-", text.lower()))
    return values.union(*(_values_of_word(word, values_of_names) for word in words))


def with_ascii_digits(text: str) -> str:
    """Return a text of the same length with the digits 0 to 9 in place of those of other scripts: ٢٠٠ is 200."""
    if text.isascii() or not _OTHER_DIGIT.search(text):
        return text
    return _OTHER_DIGIT.sub(lambda digit: str(int(digit[0])), text).translate(_SEPARATORS)


def join_thousands(text: str) -> str:
    """Return a text whose numbers have no signs between their thousands: 1.100 and 1,100 are 1100."""
    return _THOUSANDS.sub(lambda number: _NO_DIGIT.sub("", number[0]), text)


def normalize_number(number: str) -> str:
    """Remove thousands separators and trailing zeros of the fraction from a number."""
    whole = re.sub(r"(?<=\d)[,.](?=\d{3}(?:\D|$))", "", number)
    if re.search(r"[.,]", whole):
        return whole.replace(",", ".").rstrip("0").rstrip(".").lstrip("0") or "0"
    return whole.lstrip("0") or "0"


def _values_of_word(word: str, values_of_names: dict[str, str]) -> set[str]:
    """Return the number that a word names; of a word with hyphens that is no number, those of its parts: "two-year"."""
    names = [word] if word in values_of_names or word in _ENGLISH else word.split("-")
    return {value for name in names if (value := values_of_names.get(name) or _ENGLISH.get(name))}
