"""Citation markers of answers, such as [1], [2, 3] and 【1–3】: writes, finds, removes and neutralises them.

To neutralise a marker is to write it in round brackets, (1), so that it does not cite anything.
"""

import re
from collections.abc import Iterator, Sequence

# Brackets that a prompt's text must not have around numbers, because a model may read them as square brackets.
SQUARE_OPEN = r"[\[［【〔❲⟦〚]"
SQUARE_CLOSE = r"[\]］】〕❳⟧〛]"
_NUMBERS = r"\d{1,4}(?:\s?[,;–-]\s?\d{1,4}){0,20}"
_CODE = r"```.*?```|`[^`\n]*`"
# Adjacent markers as language models write them: [1], [1][2], [1, 2], [1–3], 【1】. Code is matched first, to skip it.
_MARKERS_OR_CODE = re.compile(
    rf"{_CODE}|(?P<markers>[\[【]{_NUMBERS}[\]】](?:[ ,;]{{0,3}}[\[【]{_NUMBERS}[\]】])*)", re.DOTALL
)
# One of them, in code too, also with a number that no passage can have.
_ANY_MARKER = re.compile(rf"[\[【](?:{_NUMBERS}|\d++)[\]】]")
_IN_QUOTE = re.compile(rf"[\[［【]\s?({_NUMBERS})\s?[\]］】]")
_IN_QUOTE_OR_CODE = re.compile(rf"{_CODE}|{_IN_QUOTE.pattern}", re.DOTALL)
_CLOSED_CODE = re.compile(_CODE, re.DOTALL)
_IN_PROMPT = re.compile(rf"{SQUARE_OPEN}\s?({_NUMBERS})\s?{SQUARE_CLOSE}")
# A marker at the start of a line, for all line separators, even after invisible characters.
_AT_LINE_START = re.compile(
    r"((?:^|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029])[ \t\xa0\u1680\u2000-\u200f\u202f\u205f\u2060\u3000\ufeff]*+)"
    r"\[(\d+|Source:[^\]\n]*+)\]"
)
_RANGE = re.compile(r"(\d{1,4})(?:\s?[–-]\s?(\d{1,4}))?")
_MAX_RANGE = 20


def format_marker(number: int) -> str:
    """Return the marker of the passage with this number: `[1]`."""
    return f"[{number}]"


def find_markers(answer: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each group of adjacent markers outside of code, in order."""
    for match in _MARKERS_OR_CODE.finditer(answer):
        if match["markers"]:
            yield match.span()


def parse_numbers(markers: str) -> list[int]:
    """Return the numbers of markers in order, each once. Ranges are expanded."""
    numbers: list[int] = []
    for first, last in _RANGE.findall(markers):
        start, end = int(first), int(last or first)
        numbers += range(start, min(end, start + _MAX_RANGE) + 1) if end >= start else [start]
    return list(dict.fromkeys(numbers))


def remove_markers(answer: str) -> str:
    """Remove all markers."""
    return _ANY_MARKER.sub("", answer)


def blank_markers(answer: str) -> str:
    """Replace all markers by blanks, so that offsets stay the same."""
    return _ANY_MARKER.sub(lambda match: " " * len(match.group()), answer)


def neutralize_in_quotes(quotes: Sequence[str]) -> list[str]:
    """Neutralise the markers of quotes, which would be citations of the answer that is made of the quotes.

    In code they stay: they cite nothing there, and `[0]` may be an index. A backtick that opens no code could make code
    of what follows, and text of the code in another quote. With such a backtick all markers are neutralised.
    """
    if any("`" in _CLOSED_CODE.sub("", quote) for quote in quotes):
        return [_IN_QUOTE.sub(r"(\1)", quote) for quote in quotes]
    return [_IN_QUOTE_OR_CODE.sub(lambda match: f"({match[1]})" if match[1] else match[0], quote) for quote in quotes]


def neutralize_in_prompt(text: str) -> str:
    """Neutralise the markers of a document's text, even in brackets that only resemble square ones."""
    return _IN_PROMPT.sub(r"(\1)", text)


def neutralize_at_line_starts(text: str) -> str:
    """Neutralise what looks like the first line of another passage: a line that starts with `[2]` or `[Source: …]`."""
    return _AT_LINE_START.sub(r"\1(\2)", text) if "[" in text else text
