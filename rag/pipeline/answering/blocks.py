"""What stands under each number of a prompt: passages, those that are one stretch of text joined, and none twice."""

import dataclasses
from collections.abc import Sequence

from rag.pipeline.retrieval.deduplicate import adds_nothing
from rag.types import Passage

# Characters of white space between two chunks of one text.
_MOST_BETWEEN = 10


def merge_passages(passages: Sequence[Passage]) -> list[Passage]:
    """Best first: a block is where its best passage was, and has that one's id and figures.

    Neighbours of one section that are both there become one stretch of their document, in reading order, with what they
    share once; `text == document_text[start:end]`, but for white space between them. What an earlier block says already
    is left out.
    """
    found: list[Passage] = []
    for block in _joined(passages):
        if not any(adds_nothing(block, earlier) for earlier in found):
            found.append(block)
    return found


def find_pages(document_passages: Sequence[Passage], start: int, end: int) -> tuple[int | None, int | None]:
    """First and last page of these characters, as near as the passages of their document tell."""
    around = [each for each in document_passages if each.first_page and each.start <= start and end <= each.end]
    narrowest = min(around, key=lambda each: ((each.last_page or 0) - (each.first_page or 0), each.rank), default=None)
    return (narrowest.first_page, narrowest.last_page) if narrowest else (None, None)


def _joined(passages: Sequence[Passage]) -> list[Passage]:
    place = {id(passage): index for index, passage in enumerate(passages)}
    chains: list[list[Passage]] = []
    for passage in sorted(passages, key=lambda each: (each.document_id.int, each.start, place[id(each)])):
        if chains and _goes_on(chains[-1][-1], passage):
            chains[-1].append(passage)
        else:
            chains.append([passage])
    best = [min(chain, key=lambda each: place[id(each)]) for chain in chains]
    made = [(place[id(first)], _one(chain, first)) for chain, first in zip(chains, best, strict=True)]
    return [block for _, block in sorted(made, key=lambda each: each[0])]


def _goes_on(one: Passage, other: Passage) -> bool:
    """Whether the other is the next chunk of the same section; what they share must be the same text."""
    shared = one.end - other.start
    return (
        one.document_id == other.document_id
        and other.position == one.position + 1
        and one.headings == other.headings
        and one.start < other.start <= one.end + _MOST_BETWEEN
        and one.end < other.end
        and len(one.text) == one.end - one.start
        and len(other.text) == other.end - other.start
        # A single blank may stand within a sentence, and what it is is not known here.
        and shared != -1
        and (shared <= 0 or one.text[-shared:] == other.text[:shared])
    )


def _one(chain: Sequence[Passage], best: Passage) -> Passage:
    first, last = chain[0], chain[-1]
    text = first.text
    for passage in chain[1:]:
        shared = first.start + len(text) - passage.start
        # What stands between is white space, and no sentence goes on across it.
        text += passage.text[shared:] if shared >= 0 else "\n" * -shared + passage.text
    return dataclasses.replace(
        best,
        text=text,
        position=first.position,
        start=first.start,
        end=last.end,
        first_page=first.first_page,
        last_page=last.last_page,
    )
