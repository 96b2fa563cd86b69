"""Tables of contents within texts: their lines name sections and say nothing."""

import re
from collections.abc import Iterator, Sequence

from rag.text.sentences.quotable_units import TextUnit

# "14.3. May I sell it?", "3.1.2 Fees .... 14"
_ENTRY = re.compile(r"[ \t]*(?:[-*+] )?\[?\d{1,3}(?:\.\d{1,3}){1,3}\.?\]?\s+\S")
_MIN_ENTRIES = 3
# Clauses of contracts are numbered too, but are sentences.
_MAX_SENTENCES = 0.25


def without_contents(text: str, units: Sequence[TextUnit]) -> list[TextUnit]:
    """Return the units without tables of contents: lines one below another that all begin with a section's number.

    If there is nothing else, all units are returned.
    """
    spans = list(_find_contents(text))
    return [unit for unit in units if not any(start <= unit.start < end for start, end in spans)] or list(units)


def _find_contents(text: str) -> Iterator[tuple[int, int]]:
    """Yield where tables of contents begin and end."""
    entries: list[tuple[int, int]] = []
    position = 0
    for line in [*text.split("\n"), "end"]:
        start, position = position, position + len(line) + 1
        if _ENTRY.match(line):
            entries.append((start, start + len(line)))
        elif line.strip():
            sentences = sum(text[:end].rstrip().endswith(".") for _, end in entries)
            if len(entries) >= _MIN_ENTRIES and sentences <= _MAX_SENTENCES * len(entries):
                yield entries[0][0], entries[-1][1]
            entries = []
