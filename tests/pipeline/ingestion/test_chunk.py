"""Chunking: properties that hold for every text."""

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.parsing import parse
from rag.pipeline.ingestion.chunk import chunk
from rag.text.token_counts import count_tokens
from rag.types import ChunkingOptions

_alphabet = st.sampled_from("ab é日本。.!?\n\n# *-`|>🦓\t\r\u0301")
_words = st.lists(st.text(_alphabet, max_size=12), max_size=300).map(" ".join)
_texts = st.one_of(_words, st.text(max_size=600), st.text("x", min_size=1, max_size=3000))


@settings(max_examples=150)
@given(text=_texts, size=st.integers(32, 200), overlap_percent=st.integers(0, 50), markdown=st.booleans())
def test_chunks_fit_their_size_and_cover_the_text(text: str, size: int, overlap_percent: int, markdown: bool) -> None:
    parsed = parse.parse_text(text, content_type="text/markdown" if markdown else "text/plain", path="")
    drafts = list(chunk(parsed, ChunkingOptions(size=size, overlap=size * overlap_percent // 100)))
    covered = 0
    for position, draft in enumerate(drafts):
        assert draft.position == position
        assert draft.text == parsed.text[draft.start : draft.end]
        assert draft.text.strip()
        assert draft.tokens == count_tokens(draft.text) <= size
        # Only white space lies between two chunks. Chunks come in reading order.
        assert not parsed.text[covered : draft.start].strip()
        assert position == 0 or draft.start > drafts[position - 1].start
        covered = max(covered, draft.end)
    assert not parsed.text[covered:].strip()


def test_neighbours_overlap() -> None:
    text = " ".join(f"Sentence number {number} is about zebras." for number in range(200))
    drafts = list(chunk(parse.parse_text(text, content_type="", path="a.txt"), ChunkingOptions(128, 30)))
    for before, after in pairwise(drafts):
        shared = count_tokens(text[after.start : before.end])
        assert 0 < shared <= 30
        assert after.text.startswith("Sentence")  # whole sentences


def test_paragraphs_are_kept_together() -> None:
    paragraphs = [f"Paragraph {number}. " + "It is about zebras. " * 12 for number in range(10)]
    text = "\n\n".join(paragraphs)
    drafts = list(chunk(parse.parse_text(text, content_type="", path="a.txt"), ChunkingOptions(100, 0)))
    assert [draft.text for draft in drafts] == [paragraph.strip() for paragraph in paragraphs]


@pytest.mark.parametrize("marker", ["- ", "12. ", "| ", ""])
def test_a_chunk_does_not_end_within_a_sentence_that_goes_on_in_the_next_line(marker: str) -> None:
    items = [
        f"{marker}Zebras are found in place {number}, where they\n  eat grass and sleep at night."
        for number in range(60)
    ]
    drafts = list(chunk(parse.parse_text("\n".join(items), content_type="", path="a.md"), ChunkingOptions(128, 20)))
    assert len(drafts) > 5
    assert all(draft.text.endswith("at night.") for draft in drafts)


@pytest.mark.parametrize("marker", ["(ii) ", "a) ", "(3) "])
def test_items_without_the_end_of_a_sentence_are_kept_together(marker: str) -> None:
    items = [f"{marker}zebras in place {number}, where they\n  eat grass and sleep at night" for number in range(60)]
    drafts = list(chunk(parse.parse_text("\n".join(items), content_type="", path="a.md"), ChunkingOptions(128, 20)))
    assert len(drafts) > 5
    assert all(draft.text.endswith("at night") for draft in drafts)


def test_markdown_is_split_at_headings_and_chunks_have_them() -> None:
    sections = ["# Animals\n\n" + "Intro. " * 40, "## Zebras\n\n" + "Stripes. " * 40, "## Lions\n\n" + "Manes. " * 40]
    text = "\n\n".join([*sections, "# Plants\n\nOaks."])
    drafts = list(chunk(parse.parse_text(text, content_type="", path="guide.md"), ChunkingOptions(512, 50)))
    paths = {draft.headings: draft.text for draft in drafts}
    assert list(paths) == [("Animals",), ("Animals", "Zebras"), ("Animals", "Lions"), ("Plants",)]
    assert paths["Animals", "Lions"].startswith("## Lions")


@pytest.mark.parametrize("size", [256, 512])
def test_each_short_answer_has_its_own_heading(size: int) -> None:
    text = (
        "# Questions\n\n## Do zebras swim?\n\nYes, they do: zebras swim well, and cross wide rivers on their way.\n\n"
        "## Do lions climb?\n\nYes, lions climb trees to rest in the shade, and to look around for zebras.\n"
    )
    drafts = list(chunk(parse.parse_text(text, content_type="", path="guide.md"), ChunkingOptions(size, 50)))
    assert [draft.headings for draft in drafts] == [
        ("Questions", "Do zebras swim?"),
        ("Questions", "Do lions climb?"),
    ]
    assert [draft.text.count("Yes") for draft in drafts] == [1, 1]


def test_a_very_short_section_stays_with_the_next_one() -> None:
    text = "# Animals\n\nIntro.\n\n## Zebras\n\n" + "Stripes. " * 40
    drafts = list(chunk(parse.parse_text(text, content_type="", path="guide.md"), ChunkingOptions(512, 50)))
    assert [draft.headings for draft in drafts] == [("Animals",)]


def test_lines_of_code_are_no_headings() -> None:
    text = "# Real\n\n```\n# not a heading\n```\n\nText\r\n\r\nAlso real\r\n=========\r\n\r\nEnd."
    headings = parse.parse_text(text, content_type="text/markdown; charset=utf-8", path="").headings
    assert [(heading.title, heading.level) for heading in headings] == [("Real", 1), ("Also real", 1)]
    assert text[headings[1].start :].startswith("Also real")


def test_an_underlined_heading_opens_no_block_of_code() -> None:
    """Text that is taken for code would be split within its paragraphs, because lines of code are all alike."""
    paragraphs = ["\n".join(["It is about zebras. " * 4] * 3) for _ in range(4)]
    text = "Zebras\n~~~~~~\n" + "\n\n".join(paragraphs)
    drafts = list(chunk(parse.parse_text(text, content_type="text/markdown", path=""), ChunkingOptions(100, 0)))
    assert [draft.text for draft in drafts][1:] == [paragraph.strip() for paragraph in paragraphs[1:]]


HOSTILE = {
    "one letter": "x",
    "CJK without sentence ends": "日本語の文章です",
    "words": "word ",
    "line ends": "\n",
    "vertical tabs": "\v",
    "lines of one letter": "x\n",
    "dots": ".",
    "quotes": '"',
    "lists": "- a\n",
    "nested quotes": "> ",
    "nested lists": "- - - - - - - - ",
    "underlined headings": "a\n===\n",
    "links": "[a](",
    "fences": "```\n",
    "combining": "e\u0301",
    "emoji": "🦓",
    "long white space": " " * 5000 + "x",
    "long dots": "." * 5000 + "x",
}


NOISE_SECONDS = 0.1


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("content_type", ["text/plain", "text/markdown"])
def test_hostile_texts_take_linear_time(name: str, content_type: str) -> None:
    """Twice the text takes about twice the time, so no text makes a worker hang."""

    def seconds(length: int) -> float:
        text = (HOSTILE[name] * length)[:length] + "end"
        started_at = time.process_time()
        drafts = list(chunk(parse.parse_text(text, content_type=content_type, path=""), ChunkingOptions(512, 50)))
        assert all(draft.tokens <= 512 for draft in drafts)
        assert drafts[-1].end == len(text)
        return time.process_time() - started_at

    def is_linear() -> bool:
        long = seconds(30_000)
        return long < NOISE_SECONDS or long < 6 * seconds(7_500) + NOISE_SECONDS

    seconds(1000)
    # Other processes may disturb one measurement. Quadratic time fails all three.
    assert any(is_linear() for _ in range(3))


def test_a_line_with_more_tokens_without_its_line_end_fits() -> None:
    """ "<>();" is one token with its line end and two without it. Such a line of exactly the size once hung."""
    assert (count_tokens("<>();\n"), count_tokens("<>();")) == (1, 2)
    text = "x" + " x" * 510 + "<>();\nnext line"
    drafts = list(chunk(parse.parse_text(text, content_type="", path="a.txt"), ChunkingOptions(512, 50)))
    assert all(draft.tokens <= 512 for draft in drafts)
    assert drafts[-1].end == len(text)


@pytest.mark.parametrize("sentences", range(20, 60, 3))
def test_no_chunk_consists_of_a_heading_alone(sentences: int) -> None:
    text = "".join(
        f"# Shed {number}\n\nBicycles are parked here. {'It is dry. ' * sentences}\n\n" for number in range(3)
    )
    parsed = parse.parse_text(text, content_type="text/markdown", path="")
    for draft in chunk(parsed, ChunkingOptions(128, 32)):
        assert "dry" in draft.text
