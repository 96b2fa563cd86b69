"""Word documents of Office 97 to 2003 whose text is in several pieces, and their tables."""

import struct
from collections.abc import Sequence

import pytest

from rag.parsing.readers.office.legacy.word_labels import read_structure
from rag.parsing.readers.office.legacy.word_paragraphs import LegacyDocument
from rag.parsing.readers.office.legacy.word_tables import LegacyTable, split_at_tables
from rag.parsing.readers.office.legacy.word_types import CharacterType
from tests.parsing.files.mail import ole
from tests.support.checks.growth import takes_linear_time

_TEXT, _PAGE, _COMPRESSED, _BEHIND = 512, 512, 1 << 30, 1 << 29
_BOLD, _LARGE = b"\x35\x08\x01", b"\x43\x4a\x28\x00"


def _document(
    text: str,
    pieces: Sequence[tuple[int, int]],
    *,
    changes: Sequence[tuple[int, bytes]] = (),
    pages: int = 1,
    blank: int = 0,
) -> bytes:
    """A document whose text is one paragraph in the properties.

    Args:
        text: Its characters of 8 bits.
        pieces: The number of the first character of each piece, and its place in the text.
        changes: Where letters change, and how.
        pages: How often the page with the paragraph is named.
        blank: How many bytes follow that mean nothing.
    """
    page = (_TEXT + len(text)) // _PAGE + 1
    numbers = [number for number, _ in pieces] + [len(text)]
    listed = struct.pack(f"<{len(numbers)}I", *numbers)
    listed += b"".join(struct.pack("<HIH", 0, 2 * (_TEXT + place) | _COMPRESSED, 0) for _, place in pieces)
    head, table = bytearray(_TEXT), b""
    parts = {
        1: struct.pack("<HHH", 4, 0, 10),
        12: struct.pack("<III", _TEXT, _BEHIND, page + 1),
        13: struct.pack(f"<{2 * pages + 1}I", *range(pages + 1), *[page] * pages),
        33: b"\2" + struct.pack("<I", len(listed)) + listed,
    }
    for number, part in parts.items():
        struct.pack_into("<II", head, 0x9A + 8 * number, len(table), len(part))
        table += part
    paragraphs = struct.pack("<II", _TEXT, _BEHIND).ljust(511, b"\0") + b"\1"
    places = [_TEXT, *(_TEXT + place for place, _ in changes), _BEHIND]
    letters = bytearray(struct.pack(f"<{len(places)}I", *places).ljust(511, b"\0") + bytes([len(places) - 1]))
    for number, (_, change) in enumerate(changes, 1):
        start = 256 + 16 * number
        letters[4 * len(places) + number] = start // 2
        letters[start : start + 1 + len(change)] = bytes([len(change)]) + change
    main = (bytes(head) + text.encode("cp1252")).ljust(page * _PAGE, b"\0") + paragraphs + letters + bytes(blank)
    return ole({"WordDocument": main, "0Table": table.ljust(4096, b"\0")})


@pytest.mark.parametrize("kind", ["empty", "backwards", "behind the end"])
def test_pieces_without_text_are_read_in_linear_time(kind: str) -> None:
    def build(length: int, _: int) -> bytes:
        count = length // 24
        pieces = {
            "empty": [(0, 0), *[(4, 2)] * count],
            "backwards": [*((number, 2) for number in range(count, 0, -1)), (0, 0)],
            "behind the end": [(0, 0), *((number, _BEHIND // 2) for number in range(4, count + 4))],
        }[kind]
        return _document("Bee\r", pieces, pages=length // 16, blank=length)

    assert takes_linear_time(read_structure, build, 20_000)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([(3, _BOLD)], CharacterType()),
        ([(0, _BOLD)], CharacterType(is_bold=True)),
        ([(0, _LARGE), (3, b"")], CharacterType(size=40)),
        ([(0, _BOLD), (6, b"")], CharacterType(is_bold=True)),
    ],
    ids=["bold end", "all bold", "large start", "plain end without letters"],
)
def test_the_type_of_a_paragraph_is_that_of_all_its_pieces(
    changes: list[tuple[int, bytes]], expected: CharacterType
) -> None:
    content = _document("abcdef.\r", [(0, 0), (3, 3), (6, 6)], changes=changes)
    (paragraph,) = LegacyDocument(content).paragraphs()
    assert (paragraph.text, paragraph.type) == ("abcdef.", expected)


_FIGURES = LegacyTable((("2", "0"), ("2", "4")), 0)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("In 2024\n2\t0\n2\t4\nEnd.", ["In 2024\n", _FIGURES, "\nEnd."]),
        ("In 12024\n2\t0\n2\t4\nEnd.", ["In 12024\n", _FIGURES, "\nEnd."]),
        ("In 2024, 20244.", ["In 2024, 20244."]),
    ],
    ids=["word", "part of a word", "no table"],
)
def test_tables_are_where_their_cells_are_words(text: str, parts: list[str | LegacyTable]) -> None:
    assert list(split_at_tables(text, [_FIGURES])) == parts


def test_tables_with_wrong_places_are_searched_in_linear_time() -> None:
    def build(length: int, _: int) -> str:
        return ("a " * (length // 8) + "aa ") * 4

    def split(text: str) -> None:
        table = LegacyTable((("a", "a"),) * (len(text) // 16 + 2), 0)
        assert list(split_at_tables(text, [table])) == [text]

    assert takes_linear_time(split, build, 200_000)
