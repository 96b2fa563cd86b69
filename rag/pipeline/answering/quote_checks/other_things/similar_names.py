"""Names in quotes that differ from a name of the question: "Tarn 5" from "Tarn 7"."""

import re

from rag.pipeline.answering.extractive.question.question_type import is_yes_or_no
from rag.pipeline.retrieval.query.split_clauses import asking_clauses
from rag.text.function_words import ALL_FUNCTION_WORDS, FUNCTION_WORDS
from rag.text.quantities.quantity_words import DAYS, MONTHS, UNIT_OF_WORD, any_of

from .other_codes import asks_for_other

_MAX_NAME_WORDS = 6
_MIN_LETTERS = 4
# Another number, or another word before the rest of a name of three words or more.
_OTHER_NUMBER = r"((?:[A-Z]{0,3}\d)[\w.-]*+)"
_OTHER_WORD = r"([A-Z][^\W\d_]{3,})"
# "Room 10 to 14", "Python 3.10 or later", "at least Python 3.10" and "since March 2024" may be about the one asked for.
_RANGE_BEFORE = re.compile(
    r"(?:\b(?:from|since|between|at least|minimum|ab|von|seit|zwischen|mindestens|de|du|dès|depuis|entre|desde"
    r"|partir de|before|until|bis|to|through|und|and|et|y|or|oder|ou|o|jusqu['’]à|hasta|e|dal|tra|fra|fino a|até"
    # A list mark is no dash: "- Tarn 5".
    r"|sinds|tot|tussen|vanaf)|[^\s|] ?[/–-])[ :]{0,2}(?:\w+ )?\Z",
    re.IGNORECASE,
)
_RANGE_BEHIND = re.compile(
    r"\s?(?:\+|[/–,-]|(?:to|through|until|up|and|or|bis|und|oder|à|et|ou|a|y|o|hasta|e|fino|até|tot|later|newer"
    r"|above)\b)",
    re.IGNORECASE,
)
_RANGE = re.compile(
    r"(?<![\d.])(\d{1,6})\s?(?:-|–|to|through|until|bis|à|a|hasta|al|até"
    r"|tot)\s?(?:\w+ )?(\d{1,6})(?![\d.])",
    re.IGNORECASE,
)

# "LS 8", "Ward 12", but no date, year, amount or version.
_NUMBERED = re.compile(
    rf"(?<![\w-])([A-Z][^\W\d_]{{1,15}})[ -](?!(?:1[5-9]|20)\d\d)(\d{{1,4}})(?![\w/:-]|[.,]\d|[ ]?[%€$£]"
    rf"|[ ](?i:{any_of(word for word in UNIT_OF_WORD if word.isalpha())})\b)"
)
_NO_NAMES = {*DAYS, *(month for months in MONTHS.values() for month in months)}
_MAX_QUESTION, _MAX_TEXT = 500, 2_000


def has_other_number(text: str, query: str) -> bool:
    """Return whether a question names something with a number, and a text only has the same with another number.

    Args:
        text: The text.
        query: The question. One of yes or no, or about another one ("the successor of Tarn 5") does not count.
    """
    query, text = query[:_MAX_QUESTION], text[:_MAX_TEXT]
    if is_yes_or_no(query) or asks_for_other(query):
        return False
    names = [
        name.groups()
        for clause in asking_clauses(query)
        for name in _NUMBERED.finditer(clause)
        if name[1].lower() not in ALL_FUNCTION_WORDS and name[1].lower() not in _NO_NAMES
    ]
    return any(
        not re.search(rf"(?<!\w){word}[ -]?0{{0,3}}{number}(?!\d)", text, re.IGNORECASE)
        and has_similar_name(text, f"{word} {number}")
        for word, number in names
    )


def has_similar_name(text: str, name: str) -> bool:
    """Return whether a text has a name that differs in a number, or in the first of three words or more.

    Args:
        text: The text.
        name: A name of several words, as it is written in a question.
    """
    words = name.split()[:_MAX_NAME_WORDS]
    if len(words) < 2:
        return False
    return any(
        _differs(match, word)
        for position, word in enumerate(words)
        if (pattern := _pattern(words, position))
        for match in re.finditer(pattern, text)
    )


def _pattern(words: list[str], position: int) -> str:
    """Return the pattern of a name in which the word at a position is another one; empty if it may not differ."""
    word = words[position]
    if any(map(str.isdigit, word)):
        other = _OTHER_NUMBER
    elif position == 0 and len(words) > 2 and word[0].isupper() and len(word) >= _MIN_LETTERS:
        other = _OTHER_WORD
    else:
        return ""
    parts = [re.escape(part) for part in words]
    parts[position] = other
    return rf"(?<![\w.-]){'[ ]'.join(parts)}(?![\w-])"


def _differs(match: re.Match[str], word: str) -> bool:
    other, text = match[1].rstrip("."), match.string
    if other.lower() == word.lower() or other.lower() in FUNCTION_WORDS["english"]:
        return False
    if not any(map(str.isdigit, word)):
        return other[0] != word[0]
    if _is_in_range(text, word) or other.startswith(f"{word}."):
        return False
    before, behind = text[max(0, match.start() - 30) : match.start()], text[match.end() : match.end() + 10]
    return not (_RANGE_BEFORE.search(before) or _RANGE_BEHIND.match(behind))


def _is_in_range(text: str, word: str) -> bool:
    return word.isdigit() and any(int(low) <= int(word) <= int(high) for low, high in _RANGE.findall(text))
