"""The Markdown that is extracted from PDF and office files."""

import pytest

from tests.support.checks.growth import takes_linear_time
from tests.support.speed.deferred import extracted_markdown


def test_a_bold_line_in_a_pdf_is_a_heading() -> None:
    assert extracted_markdown.promote_bold_lines("**Bees**\n\nText **bold** here.\n\n**12,50**\n\n## A").split("\n\n")[
        1:5
    ] == [
        "# Bees",
        "Text **bold** here.",
        "**12,50**",
        "## A",
    ]


def test_signs_of_multiplication_are_no_emphasis() -> None:
    assert extracted_markdown.strip_formatting("*Door*: 600*4 800*4 a*b*c") == "Door: 600*4 800*4 abc"


def test_code_has_no_emphasis() -> None:
    text = "*`action`* [*`names`*...] **`all`** 2*`x`*3"
    assert extracted_markdown.strip_formatting(text) == "`action` [`names`...] `all` 2`x`3"


def test_emphasised_code_is_found_in_linear_time() -> None:
    assert takes_linear_time(
        extracted_markdown.strip_formatting, lambda length, seed: f"*`{seed}" * (length // 4), 20_000
    )


@pytest.mark.parametrize(
    "title",
    [
        *("Microsoft Word - rules.doc", "(Microsoft Office Word - rules)", "rules.indd", "Untitled-1", "Ohne Titel 2"),
        *(
            "Document1",
            "VI",
            "Präsentation1",
            "Folie 1",
            "PowerPoint-Präsentation",
            "Adobe Photoshop PDF",
            "localhost:8000/programme.md#",
            "Презентация PowerPoint",
            "无标题",
            "Layout 1",
            "PDF 00135.216067/2025-03",
            "SKM_C25819031512340",
        ),
    ],
)
def test_titles_that_programs_write_by_default_are_none(title: str) -> None:
    assert extracted_markdown.clean_title(title) == ""


@pytest.mark.parametrize(
    "title", ["Documents of 2011", "Slides", "Book of bees", "Layout", "Rules 1.2", "Untitled songs"]
)
def test_other_titles_stay(title: str) -> None:
    assert extracted_markdown.clean_title(title) == title


@pytest.mark.parametrize("unit", ["microsoft ", "a.", "présentation ", "document 1", "\\'a"])
def test_titles_are_checked_in_linear_time(unit: str) -> None:
    assert takes_linear_time(
        extracted_markdown.clean_title, lambda length, seed: f"{seed}" + unit * (length // 8), 50_000
    )


@pytest.mark.parametrize(("title", "is_other"), [("Privacy statement", True), ("Rules Bee", False), ("2019", False)])
def test_titles_without_a_word_in_the_text_are_of_another_document(title: str, is_other: bool) -> None:
    assert extracted_markdown.is_of_another_document(title, "All bees hum in the garden. " * 50) == is_other
