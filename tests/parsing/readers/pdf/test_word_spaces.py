"""Spaces between words of PDF lines whose letters are set close to each other or far apart."""

from functools import partial

import pytest

from rag.parsing.readers.pdf.letters.spacing_accents import LEFT_OUT, Box
from rag.parsing.readers.pdf.letters.word_spaces import find_word_spaces
from tests.parsing import files
from tests.parsing.conftest import Read
from tests.support.checks.growth import takes_linear_time


def _read(line: str, gap: float, wide: frozenset[int] = frozenset()) -> str:
    """Return a line as it is read. Its letters, 5 points wide, have these gaps, those of `wide` 2 points more."""
    lefts, left = list[float](), 0.0
    for place, character in enumerate(line):
        left += (gap + 2 * (place in wide)) * (character != " ")
        lefts.append(left)
        left += 5 * (character != " ")

    def box(number: int) -> Box:
        return lefts[number], 0, lefts[number] + 5 * (line[number] != " "), 10

    kept, missing = find_word_spaces(line, 0, box, lambda _: 10.0)
    shown = "".join(" " * (place in missing) + character for place, character in enumerate(kept))
    return shown.replace(LEFT_OUT, "")


@pytest.mark.parametrize("gap", [-1.5, 0.0])
def test_missing_spaces_are_found_by_wider_gaps(gap: float) -> None:
    assert _read("ourBoatsSail", gap, frozenset({3, 8})) == "our Boats Sail"
    assert _read("the lake.Our club", gap, frozenset({9})) == "the lake. Our club"
    assert _read("McDonald and JavaScript", gap) == "McDonald and JavaScript"


def test_spaces_between_spread_letters_are_no_spaces() -> None:
    assert _read("B O A T S A I L", 2.0, frozenset({8})) == "BOAT SAIL"
    assert _read("Mary Pool e, the chair", 1.5, frozenset({5, 13, 17})) == "Mary Poole, the chair"
    assert _read("between a b and the end", 0.0, frozenset({8, 10, 12, 16, 20})) == "between a b and the end"


def test_letters_that_are_set_far_apart_are_read_as_words(read: Read) -> None:
    content = "BT /F1 12 Tf 6 Tc 72 720 Td (abcdefgh) Tj ET"
    assert read(files.pdf_with_letters(content, "harbours"), "a.pdf").text == "harbours"


def test_leaders_keep_their_spaces() -> None:
    assert _read("Contents . . . . . 3", 0.0, frozenset(range(9, 20, 2))) == "Contents . . . . . 3"


def test_the_search_for_spaces_takes_linear_time() -> None:
    def search(line: str) -> object:
        return find_word_spaces(line, 0, lambda number: (number, 0, number + 1, 1), lambda _: 1.0)

    for part in ("a ", "aB", "a.", "a ,"):
        assert takes_linear_time(search, partial(_repeated, part), 20_000)


def _repeated(part: str, length: int, seed: int) -> str:
    return part * (length // len(part))
