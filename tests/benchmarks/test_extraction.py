"""The measure of quoted characters."""

import pytest

from benchmarks.extraction import LabelledQuestion, overlap, visible

TEXT = "Tea is served.\n\nIt is hot.\n"
FIRST, SECOND = ("tea", 0, 14), ("tea", 16, 26)


@pytest.mark.parametrize(("quoted", "is_whole", "recall"), [([FIRST, SECOND], 1, 1.0), ([FIRST], 0, 12 / 20)])
def test_sentences_that_are_quoted_one_by_one_have_a_whole_answer(
    quoted: list[tuple[str, int, int]], is_whole: int, recall: float
) -> None:
    """No quote has the white space between two sentences, or at the end of a reference."""
    question = LabelledQuestion("How is tea served?", [visible(("tea", 0, len(TEXT)), TEXT)], is_any=False)
    lengths = sum(end - start for _, start, end in quoted)
    assert overlap(question, quoted, {"tea": TEXT}) == pytest.approx((is_whole, recall, 1.0, lengths))
