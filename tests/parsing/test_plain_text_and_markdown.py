"""Plain text and Markdown, which are not changed, and the titles of Markdown."""

import pytest

from rag.parsing import parse
from rag.types import Heading

from .conftest import Read


@pytest.mark.parametrize(
    ("name", "content_type", "media_type"),
    [
        ("a.txt", "", "text/plain"),
        ("a.py", "", "text/x-python"),
        ("a.py", "text/plain", "text/x-python"),
        ("a.md", "", "text/markdown"),
        ("a", "text/markdown; charset=utf-8", "text/markdown"),
        ("a", "application/octet-stream", "text/plain"),
        ("a.xml", "", "application/xml"),
    ],
)
def test_text_is_not_changed(read: Read, name: str, content_type: str, media_type: str) -> None:
    text = "# one\r\n\r\n  def two(): pass\t\n"
    parsed = read(text.encode(), name, content_type)
    assert (parsed.text, parsed.media_type) == (text, media_type)
    assert parse.parse_text(text, content_type=content_type, path=name).text == text


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("## Installing {#install}", "Installing"),
        ("## Installing {: #install .wide }", "Installing"),
        ('## <a name="install"></a>Installing', "Installing"),
        ('## Installing <a href="#install">#</a> ##', "Installing"),
        ("## `{#if}` blocks", "`{#if}` blocks"),
        ("## Sets like {1, 2}", "Sets like {1, 2}"),
        ("## List<String>", "List<String>"),
        ("## {#install}", "{#install}"),
    ],
)
def test_titles_of_headings_have_no_anchors(read: Read, line: str, title: str) -> None:
    text = f"# Zebras\n\n{line}\n\nThey sleep standing up.\n"
    document = read(text.encode(), "zebras.md")
    assert document.headings[1].title == title
    assert document.text == text


def test_front_matter_declares_the_title_and_is_no_heading(read: Read) -> None:
    text = '---\ntitle: "Bees: a guide"\ntags: [a]\n---\n\n# Hive\n'
    parsed = read(text.encode(), "a.md")
    assert (parsed.text, parsed.title) == (text, "Bees: a guide")
    assert parsed.headings == (Heading(text.index("# Hive"), 1, "Hive"),)
