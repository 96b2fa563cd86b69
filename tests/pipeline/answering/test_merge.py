"""What stands under each number of a prompt: neighbours joined, repetitions once."""

import dataclasses
import uuid

from hypothesis import given, settings
from hypothesis import strategies as st

from rag.pipeline.answering.merge import merge_passages
from rag.pipeline.answering.prompt import build_prompt
from rag.pipeline.ingestion.chunk import chunk
from rag.text.tokens import count_tokens
from rag.types import ChunkingOptions, ParsedDocument, Passage
from tests.pipeline.answering.test_extractive import passage

TEXT = " ".join(f"Sentence {number} says that room {number} has a window and a door." for number in range(40))


def chunks_of(text: str, *, overlap: int = 20) -> list[Passage]:
    drafts = chunk(ParsedDocument(text), ChunkingOptions(60, overlap))
    return [
        passage(
            each.text, start=each.start, end=each.end, position=each.position, chunk_id=uuid.UUID(int=each.position)
        )
        for each in drafts
    ]


@settings(deadline=None, max_examples=50)
@given(
    order=st.permutations(range(8)),
    count=st.integers(1, 8),
    overlap=st.sampled_from([0, 20]),
    text=st.sampled_from([TEXT, TEXT.replace(". ", ".\n\n"), TEXT.replace(" ", "\n")]),
)
def test_neighbours_are_one_stretch_of_their_document(order: list[int], count: int, overlap: int, text: str) -> None:
    """In reading order, what they share once, and where the document has it; the best of all is in the first."""
    all_chunks = chunks_of(text, overlap=overlap)
    chosen = [all_chunks[index] for index in order[:count]]
    found = merge_passages(chosen)
    for block in found:
        assert "".join(block.text.split()) == "".join(text[block.start : block.end].split())
        assert len(block.text) == block.end - block.start
    assert found[0].chunk_id == chosen[0].chunk_id
    covered = {each for block in found for each in range(block.start, block.end)}
    assert len(covered) == sum(len(block.text) for block in found), "nothing twice"
    assert covered >= {each for one in chosen for each in range(one.start, one.end)}


def test_what_is_joined_saves_tokens_and_has_one_number() -> None:
    near = chunks_of(TEXT)[:4]
    apart = [dataclasses.replace(each, position=2 * each.position) for each in near]
    joined, alone = (build_prompt("Which rooms?", each, max_tokens=2000) for each in (near, apart))
    assert (len(joined.numbered_passages), len(alone.numbered_passages)) == (1, 4)
    assert (joined.passages, alone.passages) == (tuple(near), tuple(apart))
    assert joined.token_count < alone.token_count - 40
    assert joined.prompt.count("Sentence 5 ") == 1


def test_only_true_neighbours_are_joined() -> None:
    one, two = chunks_of(TEXT)[:2]
    for other in (
        dataclasses.replace(two, document_id=uuid.uuid4()),
        dataclasses.replace(two, headings=("Elsewhere",)),
        dataclasses.replace(two, start=two.start + 1, end=two.end + 1),  # of another version of the text
    ):
        assert len(merge_passages([one, other])) == 2


def test_what_is_said_already_is_left_out() -> None:
    text = "Bicycles are parked in the yard behind the old house, and " + "the porter keeps the key of the shed, " * 6
    copies = [passage(text, document_id=uuid.uuid4(), position=7 * number) for number in range(3)]
    twin = dataclasses.replace(copies[1], text=text.upper().replace(",", ";"))
    assert merge_passages([copies[0], twin, copies[2]]) == [copies[0]]
    context = build_prompt("Where?", copies, max_tokens=500)
    assert (len(context.numbered_passages), len(context.passages)) == (1, 3)
    assert context.token_count == count_tokens(context.prompt) < 250


def test_another_number_a_not_or_another_heading_is_something_new() -> None:
    text = "Members pay 5 euros for the day, and " + "guests have to ask the porter for the key, " * 6
    one = passage(text, position=0)
    for other in (text.replace("5", "6"), text.replace("have to", "have not to")):
        assert len(merge_passages([one, passage(other, position=5)])) == 2
    for other in (TEXT.replace("room 7 has a", "room 7 has no"), TEXT.replace("room 7 ", "room 77 ")):
        assert len(merge_passages([passage(TEXT), passage(other, position=5)])) == 2
    short = [passage("It costs 5 euros.", headings=(name,), position=9 * n) for n, name in enumerate(("Tea", "Milk"))]
    assert len(merge_passages(short)) == 2
