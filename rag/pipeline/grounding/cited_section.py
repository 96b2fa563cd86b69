"""Passages of the section that a question names by its number: "What does § 3 say?"."""

from collections.abc import Sequence

from rag.text.markup.titles.cited_sections import find_cited_sections, section_number, without_cited_sections
from rag.types import Passage

from .gaps import QueryPart, is_sought


def find_cited_section(
    query: str, passages: Sequence[Passage], parts: Sequence[QueryPart], covered_parts: Sequence[frozenset[QueryPart]]
) -> list[Passage]:
    """Return the passages with a heading that has the number of a section that the question names.

    Args:
        query: The question.
        passages: The passages, best first.
        parts: The parts of the question (`extract_query_parts`).
        covered_parts: The parts that each passage mentions (`find_covered_parts`).

    Returns:
        Only passages that mention all other parts of the question: "What does § 3 say about dogs?" is not answered by
        a § 3 about fees.
    """
    numbers = find_cited_sections(query)
    others = without_cited_sections(query)
    sought = {part for part in parts if is_sought(part, query) and others[part.start : part.end] == part.text}
    return [
        passage
        for passage, covered in zip(passages, covered_parts, strict=True)
        if numbers and sought <= covered and not numbers.isdisjoint(map(section_number, _headings(passage)))
    ]


def _headings(passage: Passage) -> list[str]:
    inner = [line for line in passage.text.splitlines() if line.startswith(("#", "§"))]
    return [*passage.headings, *inner]
