"""Merging adjacent passages of a prompt, and leaving out repeated ones."""

import uuid

from hypothesis import given, settings
from hypothesis import strategies as st

from rag.pipeline.answering.merge_passages import merge_passages
from rag.pipeline.answering.prompt import build_prompt
from rag.pipeline.ingestion.chunk import chunk
from rag.text.token_counts import count_tokens
from rag.types import ChunkingOptions, Page, ParsedDocument, Passage
from tests.support.passages import passage

TEXT = " ".join(f"Sentence {number} says that room {number} has a window and a door." for number in range(40))


def chunks_of(text: str, *, overlap: int = 20, pages: tuple[Page, ...] = ()) -> list[Passage]:
    parsed = ParsedDocument(text, pages=pages)
    return [
        passage(
            draft.text,
            start=draft.start,
            end=draft.end,
            position=draft.position,
            chunk_id=uuid.UUID(int=draft.position),
            first_page=draft.pages and draft.pages[0],
            last_page=draft.pages and draft.pages[1],
            page_starts=tuple(parsed.page_starts[slice(*draft.pages)]) if draft.pages else (),
        )
        for draft in chunk(parsed, ChunkingOptions(60, overlap))
    ]


@settings(max_examples=50)
@given(
    order=st.permutations(range(8)),
    count=st.integers(1, 8),
    overlap=st.sampled_from([0, 20]),
    text=st.sampled_from([TEXT, TEXT.replace(". ", ".\n\n"), TEXT.replace(" ", "\n")]),
)
def test_adjacent_passages_are_merged_in_reading_order(order: list[int], count: int, overlap: int, text: str) -> None:
    """Overlaps occur once, offsets are those of the document, and the first result contains the best passage."""
    all_chunks = chunks_of(text, overlap=overlap)
    chosen = [all_chunks[index] for index in order[:count]]
    merged = merge_passages(chosen)
    for result in merged:
        assert "".join(result.text.split()) == "".join(text[result.start : result.end].split())
        assert len(result.text) == result.end - result.start
    assert merged[0].chunk_id == chosen[0].chunk_id
    covered = {offset for result in merged for offset in range(result.start, result.end)}
    assert len(covered) == sum(len(result.text) for result in merged), "no character twice"
    assert covered >= {offset for one in chosen for offset in range(one.start, one.end)}


def test_merged_passages_save_tokens_and_have_one_number() -> None:
    adjacent = chunks_of(TEXT)[:4]
    separate = [chunk.copy_with(position=2 * chunk.position) for chunk in adjacent]
    merged, unmerged = (build_prompt("Which rooms?", chunks, max_tokens=2000) for chunks in (adjacent, separate))
    assert (len(merged.numbered_passages), len(unmerged.numbered_passages)) == (1, 4)
    assert (merged.passages, unmerged.passages) == (tuple(adjacent), tuple(separate))
    assert merged.token_count < unmerged.token_count - 40
    assert merged.prompt.count("Sentence 5 ") == 1


def test_only_adjacent_chunks_of_one_text_are_merged() -> None:
    one, two = chunks_of(TEXT)[:2]
    for other in (
        two.copy_with(document_id=uuid.uuid4()),
        two.copy_with(headings=("Elsewhere",)),
        two.copy_with(start=two.start + 1, end=two.end + 1),  # of another version of the text
    ):
        assert len(merge_passages([one, other])) == 2


def test_repeated_passages_are_left_out() -> None:
    text = "Bicycles are parked in the yard behind the old house, and " + "the porter keeps the key of the shed, " * 6
    copies = [passage(text, document_id=uuid.uuid4(), position=7 * number) for number in range(3)]
    twin = copies[1].copy_with(text=text.upper().replace(",", ";"))
    assert merge_passages([copies[0], twin, copies[2]]) == [copies[0]]
    context = build_prompt("Where?", copies, max_tokens=500)
    assert (len(context.numbered_passages), len(context.passages)) == (1, 3)
    assert context.token_count == count_tokens(context.prompt) < 250


def test_passages_that_differ_in_a_number_negation_or_heading_are_kept() -> None:
    text = "Members pay 5 euros for the day, and " + "guests have to ask the porter for the key, " * 6
    one = passage(text, position=0)
    for other in (text.replace("5", "6"), text.replace("have to", "have not to")):
        assert len(merge_passages([one, passage(other, position=5)])) == 2
    for other in (TEXT.replace("room 7 has a", "room 7 has no"), TEXT.replace("room 7 ", "room 77 ")):
        assert len(merge_passages([passage(TEXT), passage(other, position=5)])) == 2
    short = [passage("It costs 5 euros.", headings=(name,), position=9 * n) for n, name in enumerate(("Tea", "Milk"))]
    assert len(merge_passages(short)) == 2


@settings(max_examples=30)
@given(starts=st.sets(st.integers(1, len(TEXT) - 1), max_size=30), overlap=st.sampled_from([0, 20]))
def test_a_range_of_merged_passages_has_the_pages_of_its_characters(starts: set[int], overlap: int) -> None:
    """Every second page has no text, and a page may start anywhere, even between two passages or in their overlap."""
    text = TEXT.replace(". ", ".\n\n")
    pages = tuple(Page(start, 2 * index + 1) for index, start in enumerate([0, *sorted(starts)]))
    merged = merge_passages(chunks_of(text, overlap=overlap, pages=pages))
    assert len(merged) < 5
    ranges = [(start, start + 60) for start in range(0, len(text), 41)]
    for one in merged:
        for start, end in ranges:
            if one.start <= start and end <= one.end and not (text[start] + text[end - 1]).count("\n"):
                expected = [max(page.number for page in pages if page.start <= place) for place in (start, end - 1)]
                assert one.pages_between(start, end) == tuple(expected)
