"""Headers and footers of PDF files, and tables that only the places of words show."""

from benchmarks.support import drawn_pdf
from benchmarks.support.drawn_pdf import Text
from rag.parsing.readers.pdf import page_texts

_BIRDS = ["Herons nest in colonies near water.", "Storks nest on roofs and towers.", "Cranes nest on the ground."]


def _pages(header: str, footer: str) -> bytes:
    return drawn_pdf.draw(
        [
            [
                Text(56, 800, header),
                Text(56, 700, bird),
                Text(56, 640, "All of them eat fish."),
                Text(56, 580, "Frogs, too."),
                Text(56, 40, footer.format(number)),
            ]
            for number, bird in enumerate(_BIRDS, 1)
        ]
    )


def _texts(extra: str = "") -> dict[int, str]:
    """Return the pages as xberg reads them, without headers and footers."""
    return {number: f"{bird}\n\nAll of them eat fish. Frogs, too.{extra}" for number, bird in enumerate(_BIRDS, 1)}


def test_repeated_lines_at_the_edges_are_left_out() -> None:
    pages = page_texts.improve(_pages("Large birds", "Page {} of 3"), _texts())
    assert pages == {number: f"{bird}\n\nAll of them eat fish.\n\nFrogs, too." for number, bird in enumerate(_BIRDS, 1)}


def test_lines_at_the_same_place_of_several_pages_are_read_once_although_the_other_reader_has_them() -> None:
    other = {number: f"Large birds\n\n{text}\n\nPage {number} of 3" for number, text in _texts().items()}
    pages = page_texts.improve(_pages("Large birds", "Page {} of 3"), other)
    texts = {number: f"{bird}\n\nAll of them eat fish.\n\nFrogs, too." for number, bird in enumerate(_BIRDS, 1)}
    assert pages == {**texts, 1: f"Large birds\n\n{texts[1]}"}


def test_headers_of_pages_in_another_order_are_read_once_too() -> None:
    upwards = [
        [Text(56, 800, "Large birds"), *(Text(56, 300 + 40 * line, f"Line {line} {bird}") for line in range(9))]
        for bird in _BIRDS
    ]
    other = {number: f"Large birds\n\n{bird} again" for number, bird in enumerate(_BIRDS, 1)}
    pages = page_texts.improve(drawn_pdf.draw(upwards), other)
    assert [text.startswith("Large birds") for text in pages.values()] == [True, False, False]


def test_lines_that_are_no_headers_stay() -> None:
    """The other reader has them, or they are on one page only."""
    kept = page_texts.improve(
        _pages("Large birds", "Page {} of 3"), _texts("\n\nPage 1 of 3, Page 2 of 3, Page 3 of 3")
    )
    assert all("Page" in text and "Large" not in text for text in kept.values())
    content = drawn_pdf.draw([[Text(56, 700, "Only here"), Text(56, 650, "Herons nest near water.")]])
    assert page_texts.improve(content, {1: "Herons nest near water."})[1].startswith("Only here")


def _slides() -> bytes:
    """Five slides of TeX, of which two show one list: what comes later is drawn far away. All letters are large."""
    height, footer = drawn_pdf.HEIGHT, "Large birds of all lakes and rivers (2025), Department of Birds"
    shown: list[tuple[str, list[Text]]] = [(f"Part {word}", []) for word in ("one", "two", "three")]
    shown += [("Steps", [Text(2056, 2640, "Then count.", 20)]), ("Steps", [Text(56, 640, "Then count.", 20)])]
    return drawn_pdf.draw(
        [
            [
                Text(56, height - 40, title, 28),
                Text(56, 700, "Wait for dawn.", 20),
                *steps,
                Text(56, 550, "birds@example.org", 20),
                Text(56, 20, footer, 8),
            ]
            for title, steps in shown
        ]
    )


def test_what_is_outside_of_a_slide_is_left_out_and_its_text_is_no_heading() -> None:
    other = dict.fromkeys(range(1, 6), "Wait for dawn. birds@example.org")
    pages = page_texts.improve(_slides(), other)
    assert pages[1] == "# Part one\n\nWait for dawn.\n\nbirds@example.org"
    assert [("Then count." in text) for text in pages.values()] == [False, False, False, False, True]


def test_lines_that_the_other_reader_leaves_out_stay_within_a_page() -> None:
    pages = page_texts.improve(_slides(), dict.fromkeys(range(1, 6), "Wait for dawn."))
    assert all("birds@example.org" in text for text in pages.values())


def test_a_table_that_only_the_other_reader_has_stays() -> None:
    """The cell of Oslo and Hamar is one, so the columns are not clear."""
    cells = [("Town", "People"), ("Oslo, Hamar and all others", "709,037"), ("Bergen", "285,911"), ("Moss", "49,000")]
    items = [
        item
        for number, (town, people) in enumerate(cells)
        for item in (Text(56, 700 - 15 * number, town), Text(150, 700 - 15 * number, people))
    ]
    rows = "\n".join(f"| {town} | {people} |" for town, people in cells[1:])
    table = f"| Town | People |\n| --- | --- |\n{rows}"
    assert page_texts.improve(drawn_pdf.draw([items]), {1: table})[1] == table


def test_columns_of_text_that_were_read_as_a_table_are_columns() -> None:
    lines = [
        "The heron nests in colonies, and it",
        "comes back to the same tree in every",
        "spring of its long and busy life, as",
    ]
    lines += ["most of the large birds do that eat", "fish and frogs near lakes and rivers."]
    items = [Text(56 + 250 * column, 700 - 12 * number, line) for column in (0, 1) for number, line in enumerate(lines)]
    table = "| --- | --- |\n" + "\n".join(f"| {line} | {line} |" for line in lines)
    assert page_texts.improve(drawn_pdf.draw([items]), {1: table})[1] == "\n\n".join([" ".join(lines)] * 2)
