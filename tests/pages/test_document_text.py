"""How the text of a document is shown: Markdown as what it means, the cited range marked, nothing as HTML."""

import contextlib
import re
from typing import Any

import pytest

from orgs.access.caller import Caller
from rag.errors import TooManyLongRequests
from rag.models import DataSource
from rag.pages.rendering.document_text import TextBlock, divide_text, is_markdown, show_quote
from rag.providers.limits import expensive_work_limiter
from rag.providers.limits.cross_process_slots import CrossProcessSlots
from rag.services.sources.reading import reading_over_mcp
from ragsite.postgres import identity
from tests.pages.page_requests import ask, citation_urls
from tests.support.browsers import browser
from tests.support.checks.growth import takes_linear_time
from tests.support.factories import World, ingest_text

TEXT = """# Keys

To create **a key**, see [the page](keys.md), or
run `make key`.

- first
- second

| scope | allows |
| --- | --- |
| `query` | search |

```sh
# not a heading
make key
```
"""


def cell_texts(block: TextBlock) -> list[list[str]]:
    return [["".join(piece.text for piece in cell).strip() for cell in row] for row in block.rows]


def marked_text(blocks: list[TextBlock]) -> str:
    return "".join(
        piece.text for block in blocks for row in block.rows for cell in row for piece in cell if piece.is_marked
    )


def test_markdown_is_shown_as_what_it_means() -> None:
    blocks = divide_text(TEXT, (0, 0))
    assert [(block.kind, cell_texts(block)) for block in blocks] == [
        ("heading", [["Keys"]]),
        ("paragraph", [["To create a key, see the page, or\nrun make key."]]),
        ("bullet", [["first"]]),
        ("bullet", [["second"]]),
        ("table", [["scope", "allows"], ["query", "search"]]),
        ("code", [["# not a heading\nmake key"]]),
    ]
    assert not marked_text(blocks)


def test_exactly_the_cited_range_is_marked() -> None:
    start, end = TEXT.index("create"), TEXT.index(" key`")
    blocks = divide_text(TEXT, (start, end))
    assert marked_text(blocks) == "create a key, see the page, or\nrun make"
    everything = divide_text(TEXT, (0, len(TEXT)))
    assert all(piece.is_marked for block in everything for row in block.rows for cell in row for piece in cell)


def test_no_line_of_a_text_is_lost() -> None:
    """Whatever a text contains, its words are shown."""
    for text in (
        "",
        "|",
        "|a|",
        "```",
        "```\n```",
        "#",
        "# ",
        "-",
        "- ",
        "**",
        "[a](b",
        "  1) x\n   y",
        "\n\n\n",
        "|a\\|b|",
    ):
        words = {word for word in text.split() if word.isalnum()}
        pieces = " ".join(
            piece.text for block in divide_text(text, (0, 1)) for row in block.rows for cell in row for piece in cell
        )
        assert words <= {word.strip("|`*[]()\\") for word in pieces.split()}, text


def test_only_what_is_stored_as_markdown_is_divided() -> None:
    for kind in ("text/markdown", "text/markdown; charset=utf-8", "application/pdf", "text/html"):
        assert is_markdown(kind), kind
    for kind in ("text/plain", "text/x-python", "application/javascript", ""):
        assert not is_markdown(kind), kind


def test_a_quote_has_no_marks_of_markdown() -> None:
    text = "## Keys\n\nSelect **Create**, then `POST` it: [more](x.md)\n\n| scope | allows |\n| --- | --- |\n| a | b |"
    assert show_quote(text) == "Keys Select Create, then POST it: more scope allows a b"
    assert show_quote("its [unanswered\nquestions](quality.md#who).") == "its unanswered questions."
    assert show_quote("snake_case and 2 * 3 * 4 stay") == "snake_case and 2 * 3 * 4 stay"


@pytest.mark.parametrize("run", [" ", "\n", "\u00a0", "[", "![", "](", "|", "| ", "|-", "# "])
def test_a_run_of_marks_or_white_space_is_shown_in_linear_time(run: str) -> None:
    """Anybody who sends documents can send one. While an expression is matched, a web process answers nobody."""

    def text_of(length: int, _: int) -> str:
        return "a" + run * (length // len(run)) + "a"

    assert takes_linear_time(show_quote, text_of, 40_000)
    assert takes_linear_time(lambda text: divide_text(text, (0, 0)), text_of, 40_000)


def test_an_underlined_heading_opens_no_code_and_a_block_ends_with_its_own_marks() -> None:
    blocks = divide_text("Feeding\n~~~~~~~\nTwice a day.\n\n```\n~~~\nfeed\n```\nDone.", (0, 0))
    assert [(block.kind, cell_texts(block)) for block in blocks] == [
        ("paragraph", [["Feeding\n~~~~~~~\nTwice a day."]]),
        ("code", [["~~~\nfeed"]]),
        ("paragraph", [["Done."]]),
    ]


def test_code_shows_controls_of_the_direction_of_writing() -> None:
    text = "The \u202eword.\n\n```\nif x: #\u202e }\n```"
    blocks = divide_text(text, (text.index("}"), len(text)))
    assert [cell_texts(block) for block in blocks] == [[["The \u202eword."]], [["if x: #‹U+202E› }"]]]
    assert marked_text(blocks).startswith("}")


@pytest.mark.django_db
def test_few_very_long_texts_are_read_at_a_time(
    world: World, source: DataSource, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL reads a text as a whole to find a part of it: twelve at once of 99 MB took 1.3 GB of its memory."""
    monkeypatch.setattr(expensive_work_limiter, "MAX_WAIT_SECONDS", 0.0)
    document, member = source.documents.get(), world.users["member"]
    client, count = browser(member), settings.RAG_MAX_DOCUMENT_EMBEDDINGS
    slots = CrossProcessSlots(folder=settings.RAG_TEMP_FOLDER / "text-slots", count=count)
    with contextlib.ExitStack() as stack:
        assert all(stack.enter_context(slots.slot(timeout=0)) for _ in range(count))
        assert client.get(f"/documents/{document.pk}").status_code == 200, "short ones do not wait"
        source.documents.update(bytes=100 * 2**20)
        assert client.get(f"/documents/{document.pk}").status_code == 429
        with identity.run_as(identity.of_user(member.pk)), pytest.raises(TooManyLongRequests):
            reading_over_mcp.read_text(Caller(member), None, document.pk, start=0, characters=10)
    assert "300 kilograms" in client.get(f"/documents/{document.pk}").content.decode()


def test_questions_answers_and_documents_have_the_direction_of_their_language(
    transactional_db: None, world: World
) -> None:
    ingest_text(world.source(name="Post"), "bareed.md", "يصل البريد ظهرًا.", title="البريد")
    client = browser(world.users["member"])
    page = ask(client, "متى يصل البريد؟").content.decode()
    for start in ('<h2 class="question"', '<div class="answer-text"', '<span class="quote"', '<textarea id="question"'):
        assert f'{start} dir="auto"' in page
    document = client.get(citation_urls(page)[0]).content.decode()
    assert re.search(r'<article class="card document-text[^"]*" dir="auto"', document)
