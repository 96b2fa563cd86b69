"""Which of several editions of a document is quoted, if a question names a year."""

import pytest

from tests.support.passages import answer, passage

REST = "The harbour has a kiosk.\n\nTickets are sold on board.\n\nThe crossing takes an hour.\n\nThe boat is white."
OLD = passage(f"Dogs cost 2 euros on the ferry.\n\n{REST}", title="Prices 2024", path="prices-2024.md", relevance=0.9)
NEW = passage(
    f"On the ferry dogs are carried for 3 euros each.\n\n{REST}", title="Fares", path="fares-2025.md", relevance=0.85
)


@pytest.mark.parametrize(("year", "price"), [("2024", "2 euros"), ("2025", "3 euros")])
def test_the_document_of_the_year_is_quoted(year: str, price: str) -> None:
    assert price in answer(f"What do dogs cost on the ferry in {year}?", OLD, NEW)


@pytest.mark.parametrize(
    "fields",
    [
        {"title": "Minutes of June 2024", "text": "In 2025, dogs will cost 4 euros on the ferry."},
        {"title": "Ferry", "path": "ferry.md", "text": "Dogs cost 4 euros on the ferry."},
    ],
    ids=["the part names the year", "the document names none"],
)
def test_other_documents_stay_as_good_as_they_are(fields: dict[str, object]) -> None:
    other = OLD.copy_with(**fields)
    assert "4 euros" in answer("What do dogs cost on the ferry in 2025?", other, NEW)


def test_without_a_document_of_the_year_nothing_changes() -> None:
    assert "2 euros" in answer("What do dogs cost on the ferry in 2031?", OLD, NEW)
