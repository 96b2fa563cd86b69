"""PDF files whose page tree repeats itself: xberg would visit its nodes without an end."""

import pytest

from rag.errors import ParseFailed
from rag.parsing.sandbox.limits import Limits
from tests.parsing import files
from tests.parsing.conftest import Read, error_message
from tests.support.checks.growth import takes_linear_time
from tests.support.speed.deferred import read_pdf

LIMITS = Limits(timeout_seconds=60, memory_bytes=1 << 30, text_bytes=1 << 26)


def with_nodes(*nodes: bytes) -> bytes:
    """A PDF without a table of its objects, whose page tree has these nodes: the objects from 2 on."""
    objects = b"".join(
        b"%d 0 obj<</Type/Pages/Count 9/Kids[%s]>>endobj\n" % (number, kids) for number, kids in enumerate(nodes, 2)
    )
    start = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    return start + objects + b"trailer<</Root 1 0 R>>\n%%EOF"


@pytest.mark.parametrize(
    "nodes",
    [(b"2 0 R " * 40,), (b"2 0 R " * 50_000,), (b"3 0 R", b"4 0 R", b"2 0 R 3 0 R 3 0 R"), (b"3 0 R " * 9, b"5 0 R")],
    ids=["itself", "itself often", "a node above", "a node often"],
)
def test_a_page_tree_that_repeats_itself_is_refused(read: Read, nodes: tuple[bytes, ...]) -> None:
    assert error_message(read, with_nodes(*nodes), "a.pdf").startswith("The PDF is damaged")


def test_nodes_of_earlier_versions_do_not_count(read: Read) -> None:
    earlier = b"\n2 0 obj<</Type/Pages/Kids[2 0 R]>>endobj\n" + b"".join(
        b"%d 0 obj<</Type/Pages/Kids[2 0 R]>>endobj\n" % number for number in (8, 9)
    )
    content = files.pdf(["Bees hum."])
    start = content.index(b"2 0 obj")
    current = content[start : content.index(b"endobj", start)]
    assert "Bees hum." in read(content + earlier + current + b"endobj\n%%EOF", "a.pdf").text


@pytest.mark.parametrize("part", [b"1 ", b"1", b"1 0 obj/Kids[2 0 R]", b"/Kids[", b"/Pages 2 0 R ", b"/Pages 1"])
def test_page_trees_are_looked_at_in_linear_time(part: bytes) -> None:
    def find(content: bytes) -> None:
        with pytest.raises(ParseFailed, match="damaged"):
            read_pdf.read(content, LIMITS)

    assert takes_linear_time(find, lambda length, number: b"%d " % number + part * (length // len(part)), 1_000_000)


def test_many_page_trees_are_looked_at_in_linear_time() -> None:
    def find(content: bytes) -> None:
        with pytest.raises(ParseFailed, match="damaged"):
            read_pdf.read(content, LIMITS)

    def with_roots(length: int, number: int) -> bytes:
        node = b"%d 0 obj<</Pages %d 0 R/Kids[%d 0 R]>>endobj\n"
        return b"".join(node % (item, item, item + 1) for item in range(number, number + length // 50))

    assert takes_linear_time(find, with_roots, 200_000)
