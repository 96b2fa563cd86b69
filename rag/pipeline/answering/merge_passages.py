"""Step: passages -> the passages of a prompt, in the order of their numbers: merged, without repeated ones."""

from collections.abc import Sequence

from rag.pipeline.retrieval.deduplicate import adds_nothing
from rag.types import Passage

# Maximum white space between two adjacent chunks, in characters.
_MAX_GAP_CHARACTERS = 10


def merge_passages(passages: Sequence[Passage]) -> list[Passage]:
    """Merge adjacent chunks of one section, and drop passages whose text an earlier one already has.

    Args:
        passages: Chunks, best first.

    Returns:
        The merged passages, best first. A merged passage has the rank and scores of its best chunk. For each passage
        `text == document_text[start:end]`, except for white space between merged chunks.
    """
    merged: list[Passage] = []
    for passage in _merge_adjacent(passages):
        if not any(adds_nothing(passage, earlier) for earlier in merged):
            merged.append(passage)
    return merged


def find_pages(document_passages: Sequence[Passage], start: int, end: int) -> tuple[int | None, int | None]:
    """Return the pages of a range of characters in a document for which the starts of its pages are not stored.

    Args:
        document_passages: Passages of one document.
        start: Character offset in the document.
        end: Character offset in the document, exclusive.

    Returns:
        First and last page of the passage with the fewest pages that contains the range; None if no passage does.
    """
    containing = [
        passage for passage in document_passages if passage.first_page and passage.start <= start and end <= passage.end
    ]
    narrowest = min(
        containing,
        key=lambda passage: ((passage.last_page or 0) - (passage.first_page or 0), passage.rank),
        default=None,
    )
    return (narrowest.first_page, narrowest.last_page) if narrowest else (None, None)


def _merge_adjacent(passages: Sequence[Passage]) -> list[Passage]:
    """Merge adjacent chunks into one passage each, in the order of the best chunk of each passage."""
    order = {id(passage): index for index, passage in enumerate(passages)}
    chains: list[list[Passage]] = []
    for passage in sorted(passages, key=lambda passage: (passage.document_id.int, passage.start, order[id(passage)])):
        if chains and _is_next(chains[-1][-1], passage):
            chains[-1].append(passage)
        else:
            chains.append([passage])
    merged = []
    for chain in chains:
        best = min(chain, key=lambda passage: order[id(passage)])
        merged.append((order[id(best)], _merge_chain(chain, best)))
    return [passage for _, passage in sorted(merged, key=lambda item: item[0])]


def _is_next(passage: Passage, other: Passage) -> bool:
    """Return whether `other` is the next chunk of the same section. Their overlap must be the same text."""
    gap = other.start - passage.end  # in characters; negative if the chunks overlap
    return (
        passage.document_id == other.document_id
        and other.position == passage.position + 1
        and passage.headings == other.headings
        and passage.start < other.start
        and gap <= _MAX_GAP_CHARACTERS
        and passage.end < other.end
        and len(passage.text) == passage.end - passage.start
        and len(other.text) == other.end - other.start
        # A gap of one character can be inside a sentence, and the character is unknown here.
        and gap != 1
        and (gap >= 0 or passage.text[gap:] == other.text[:-gap])
    )


def _merge_chain(chain: Sequence[Passage], best: Passage) -> Passage:
    """Join the texts of consecutive chunks, without their overlaps.

    Position, range and pages are those of the whole chain. All other fields are the best chunk's.
    """
    first, last = chain[0], chain[-1]
    text = first.text
    for passage in chain[1:]:
        gap = passage.start - (first.start + len(text))
        # Between two chunks is white space, whose characters are unknown here.
        text += "\n" * gap + passage.text if gap > 0 else passage.text[-gap:]
    return best.copy_with(
        text=text,
        position=first.position,
        start=first.start,
        end=last.end,
        first_page=first.first_page,
        last_page=last.last_page,
        page_starts=_merge_page_starts(chain),
    )


def _merge_page_starts(chain: Sequence[Passage]) -> tuple[int, ...]:
    """Return where the pages after the first one start."""
    starts, last_page = chain[0].page_starts, chain[0].last_page or 0
    for passage in chain[1:]:
        first_page = passage.first_page or 0
        # Between two passages there is only white space, so a page that starts there has no text before the second one.
        starts += (passage.start,) * (first_page - last_page)
        starts += passage.page_starts[max(0, last_page - first_page) :]
        last_page = passage.last_page or 0
    return starts
