"""Documents of other years than the one that a question names: last year's price list."""

import re
from collections.abc import Sequence

from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.text.quantities.years import LIKELY_YEAR

from .answer_candidates import QuoteCandidate

_YEAR = re.compile(rf"(?<!\d){LIKELY_YEAR}(?!\d)")


def find_parts_of_other_editions(
    candidates: Sequence[QuoteCandidate], structures: Sequence[PassageStructure], words: Sequence[str]
) -> list[bool]:
    """Return for each candidate whether its document is of other years, although one of the question's year was found.

    The year of a document is in its title, its path or the headings above the passage. A part that names the year of
    the question itself is about it, whenever it was written.

    Args:
        candidates: The candidates.
        structures: The structures of the numbered passages.
        words: The words of the question.
    """
    sought = _years(" ".join(words))
    editions = [
        _years("\n".join([structure.passage.title, structure.passage.path, *structure.passage.headings]))
        for structure in structures
    ]
    if not sought or all(sought.isdisjoint(years) for years in editions):
        return [False] * len(candidates)
    return [
        bool(years)
        and sought.isdisjoint(years | _years(structures[candidate.passage_number - 1].text(candidate.index)))
        for candidate in candidates
        for years in [editions[candidate.passage_number - 1]]
    ]


def _years(text: str) -> set[str]:
    return set(_YEAR.findall(text))
