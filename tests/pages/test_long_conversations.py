"""Very long conversations, which clients of the chat may store, are shown quickly, and searched in turn."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from rag.models import DataSource, HistoryUsage
from rag.pages.rendering import answer_rendering
from rag.pages.rendering.answer_blocks import Block, divide
from rag.pages.rendering.answer_rendering import show_conversation
from rag.providers.limits import expensive_work_limiter
from rag.providers.limits.cross_process_slots import CrossProcessSlots
from rag.services.queries.history.stored_answers import ReadableAnswer
from tests.pages.page_requests import stream
from tests.support.browsers import browser
from tests.support.factories import World

CELLS = "| a | b |\n| - | - |\n" + "| c | d |\n" * 10


def answer(text: str) -> ReadableAnswer:
    nothing: tuple[str, ...] = ()
    return ReadableAnswer(text, (), 0.0, "", nothing, nothing, citations_dropped=0, unsupported_sentences=nothing)


def kinds(*texts: str) -> list[str]:
    return [part.blocks[0].kind for part in show_conversation([answer(text) for text in texts]) if part]


def test_older_answers_of_very_long_ones_show_their_markdown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty answers of 32,000 characters took more than a minute, in which the process answered no other request."""
    assert kinds(CELLS, CELLS, CELLS) == ["table"] * 3
    monkeypatch.setattr(answer_rendering, "_MAX_PARTS", 100)
    assert kinds(CELLS, CELLS, CELLS) == ["code", "table", "table"], "the newest are rendered"
    (written, _, _) = show_conversation([answer(CELLS)] * 3)
    assert written
    assert written.blocks[0].entries[0][0][0][0].text == CELLS


def test_no_more_than_one_answer_is_divided_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    divided: list[str] = []

    def record(text: str) -> Iterator[Block]:
        divided.append(text)
        return divide(text)

    monkeypatch.setattr(answer_rendering, "divide", record)
    assert kinds(*[CELLS * 1_000] * 50) == ["code"] * 50
    assert len(divided) == 1


def test_answers_that_are_not_stored_stay_without_parts() -> None:
    assert show_conversation([None, answer("Yes.")])[0] is None


@pytest.mark.django_db(transaction=True)
def test_few_very_long_histories_are_searched_at_a_time(
    world: World, source: DataSource, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty searches at once of one history of 32 MB made the searches of others take forty times as long."""
    monkeypatch.setattr(expensive_work_limiter, "MAX_WAIT_SECONDS", 0.0)
    client = browser(world.users["member"])
    url = stream(client)[-1][1]["url"]
    count = settings.RAG_MAX_DOCUMENT_EMBEDDINGS
    slots = CrossProcessSlots(folder=settings.RAG_TEMP_FOLDER / "text-slots", count=count)
    with contextlib.ExitStack() as stack:
        assert all(stack.enter_context(slots.slot(timeout=0)) for _ in range(count))
        assert url in client.get("/history?q=300").content.decode(), "short ones do not wait"
        HistoryUsage.objects.update(bytes=32 * 2**20)
        refused = client.get("/history?q=300")
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "2")
        assert url in client.get("/history").content.decode(), "the list reads no texts"
    assert url in client.get("/history?q=300").content.decode()
