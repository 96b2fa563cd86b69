"""The Markdown that is extracted from PDF and office files."""

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
