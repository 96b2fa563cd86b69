"""No cell of an exported CSV file is a formula."""

import pytest

from ragsite.http.bodies.csv_cells import protect_cell


@pytest.mark.parametrize("start", [*"=+-@＝＋－＠", "\t", "\r", "\n"])
def test_a_text_that_begins_like_a_formula_gets_an_apostrophe(start: str) -> None:
    assert protect_cell(f"{start}1+1") == f"'{start}1+1"


@pytest.mark.parametrize("text", ["", "a=1", "1+1", "'tis", "Grüße"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert protect_cell(text) == text
