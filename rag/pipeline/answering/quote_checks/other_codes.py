"""Quotes about another member of a series than the one that a question names: the AV-12 instead of the AV-16."""

import re
from collections.abc import Sequence

# "AV-16", "C1", "E31": letters and digits.
_CODE = re.compile(r"(?<![\w-])([A-Z]{1,4})[-_]?(\d{1,5})(?![\w-])")
# "The brackets fit the AV-6 only", "all others", "B10 to B19" may say something about the one that is asked for.
_ABOUT_OTHERS = re.compile(
    r"\b(?:all|any|both|each|every|only|others?|except|instead|same|such as|e\.g|z\. ?b|p\. ?ex|alle|jede[nrs]?|nur"
    r"|andere\w*|außer|statt|tou(?:te)?s|chaque|seul\w*|autres?|sauf|tod[oa]s|cada|sol[oa]|otr[oa]s?|excepto)\b",
    re.IGNORECASE,
)
_MAX_CHARACTERS = 40
_RANGE = re.compile(
    r"(?<![\w-])([A-Z]{1,4})[-_]?\d{1,5} ?(?:to|up to|through|–|-|\.{2,3}|…|bis|à|a|hasta) ?(?:[A-Z]{1,4}[-_]?)?\d"
)


def names_other_code(query: str, text: str, labels: Sequence[str]) -> bool:
    """Return whether a text and the headings above it have other codes of a series, and not the one of a question.

    Args:
        query: The question.
        text: The quotes.
        labels: The titles of their documents and the headings above them.
    """
    sought = set(_CODE.findall(query))
    shown = "\n".join([text, *labels])
    stated = list(_CODE.finditer(shown)) if sought else []
    codes, ranges = {code.groups() for code in stated}, set(_RANGE.findall(shown))
    series = {letters for letters, _ in sought - codes} - ranges
    others = [code for code in stated if code[1] in series]
    return bool(others) and not any(map(_is_about_others, others))


def _is_about_others(code: re.Match[str]) -> bool:
    """Return whether words next to a code say something about others of its series, too."""
    before = code.string[max(0, code.start() - _MAX_CHARACTERS) : code.start()].rpartition("\n")[2]
    behind = code.string[code.end() : code.end() + _MAX_CHARACTERS].partition("\n")[0]
    return bool(_ABOUT_OTHERS.search(before) or _ABOUT_OTHERS.search(behind))
