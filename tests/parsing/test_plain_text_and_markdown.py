"""Plain text and Markdown, which are not changed, and the titles of Markdown."""

import pytest

from rag.parsing import formats, parse
from rag.parsing.plain_text import parse_markup, parse_plain
from rag.types import Heading
from tests.support.checks.growth import takes_linear_time

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
        ("a.rst", "text/prs.fallenstein.rst", "text/x-rst"),
        ("a.org", "application/vnd.lotus-organizer", "text/org"),
        ("a.ts", "video/mp2t", "text/x-typescript"),
        ("a.md", "text/x-python", "text/x-python"),
        ("a.tea", "text/x-tea", "text/x-tea"),
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


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("\x1b[31mERROR\x1b[0m disk full\n", "ERROR disk full\n"),
        ("\x1b]0;title\x07" + 40 * "ready " + "\x1b(B\n", 40 * "ready " + "\n"),
        ("N\x08NA\x08AM\x08ME\x08E\n\n  _\x08f_\x08r_\x08o_\x08b - a table\n", "NAME\n\n  frob - a table\n"),
    ],
)
def test_commands_for_terminals_are_left_out(read: Read, written: str, text: str) -> None:
    assert read(written.encode(), "a.txt").text == text


@pytest.mark.parametrize(
    ("name", "text", "headings"),
    [
        (
            "a.adoc",
            "= Bees\nAda\n\n== Hive\n\n----\n== no\n----\n\n=== Queen\n",
            [(1, "Bees"), (2, "Hive"), (3, "Queen")],
        ),
        (
            "a.org",
            "#+TITLE: Bees\n* TODO Hive :garden:\n#+begin_src\n* no\n#+end_src\n** Queen\n",
            [(1, "Hive"), (2, "Queen")],
        ),
        (
            "a.tex",
            "\\title{Bees}\n\\section{The \\emph{hive}}\n% \\section{no}\n\\subsection*{Queen}\n",
            [(2, "The hive"), (3, "Queen")],
        ),
    ],
)
def test_other_markup_stays_unchanged_and_has_headings(
    read: Read, name: str, text: str, headings: list[tuple[int, str]]
) -> None:
    parsed = read(text.encode(), name)
    assert (parsed.text, parsed.title) == (text, "Bees")
    assert [(heading.level, heading.title) for heading in parsed.headings] == headings
    assert all(heading.title.split()[-1] in parsed.text[heading.start :].split("\n")[0] for heading in parsed.headings)


@pytest.mark.parametrize(
    ("unit", "media_type"),
    [
        ("\x1b[1;", formats.PLAIN),
        ("\x1b]0;", formats.PLAIN),
        ("a\x08", formats.PLAIN),
        ("\\section{", formats.TEX),
        ("* [#A] ", formats.ORG),
        ("= ", formats.ASCIIDOC),
    ],
)
def test_terminal_codes_and_headings_take_linear_time(unit: str, media_type: str) -> None:
    def parse_text(text: str) -> None:
        parse_plain(text) if media_type == formats.PLAIN else parse_markup(text, media_type)

    assert takes_linear_time(parse_text, lambda length, seed: unit * (length // 8), 200_000)
