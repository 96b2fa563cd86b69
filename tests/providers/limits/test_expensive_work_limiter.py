"""Documents of waiting clients share the machine (rag.providers.limits.expensive_work_limiter)."""

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rag.errors import EmbeddingFailed, StorageFailed, TooManyLongRequests
from rag.providers import provider_factory
from rag.providers.limits import expensive_work_limiter
from rag.providers.limits.cross_process_slots import CrossProcessSlots
from rag.providers.limits.document_limiter import DOCUMENT_LIMITER
from rag.providers.limits.expensive_work_limiter import SlotLimiter

HOME, ABROAD, ELSEWHERE = uuid.uuid4(), uuid.uuid4(), uuid.uuid4()
_LONG = 100_000


@pytest.fixture(autouse=True)
def limits(settings: Any) -> None:
    settings.RAG_MAX_DOCUMENT_EMBEDDINGS, settings.RAG_MAX_MODEL_CALLS = 1, 10


@pytest.fixture
def busy_machine(settings: Any) -> Iterator[contextlib.ExitStack]:
    """Another process of this machine holds the only slot until the stack is closed."""
    with contextlib.ExitStack() as stack:
        slots = CrossProcessSlots(folder=settings.RAG_TEMP_FOLDER / "document-slots", count=1)
        assert stack.enter_context(slots.slot(timeout=0))
        yield stack


def _limiter() -> SlotLimiter:
    return SlotLimiter("document-slots", TooManyLongRequests)


def test_an_organisation_leaves_places_to_others() -> None:
    limiter = _limiter()
    with contextlib.ExitStack() as stack:
        admitted = {name: _admit_all(limiter, name, stack) for name in (HOME, ABROAD, ELSEWHERE)}
        assert [admitted[name] for name in (HOME, ABROAD, ELSEWHERE)] == [5, 3, 1]
    with limiter.admit(HOME, size=_LONG):  # its documents have given their places back
        pass


def _admit_all(limiter: SlotLimiter, organization_id: uuid.UUID, stack: contextlib.ExitStack) -> int:
    """Admit documents until one is refused; return how many were admitted."""
    for count in range(100):
        try:
            stack.enter_context(limiter.admit(organization_id, size=_LONG))
        except TooManyLongRequests:
            return count
    raise AssertionError("there is no limit")


def test_organisations_use_slots(busy_machine: contextlib.ExitStack, eventually: Callable[..., object]) -> None:
    """One organisation's documents, however many, do not come before another one's."""
    limiter, order = _limiter(), list[str]()
    documents = [(HOME, "home 1", _LONG), (HOME, "home 2", _LONG), (HOME, "home, small", 10), (ABROAD, "abroad", _LONG)]
    threads = []
    for organization_id, name, size in documents:
        threads.append(threading.Thread(target=_use_slots, args=(limiter, organization_id, name, size, order)))
        threads[-1].start()
        eventually(lambda: _waiting(limiter) == len(threads), seconds=10)
    busy_machine.close()
    for thread in threads:
        thread.join(60)
    # The next one is chosen when a slot begins. Whether the one that held the slot before waits again by then is open,
    # so the order after the third slot is, too.
    assert order[:3] == ["home 1", "abroad", "home, small"]
    assert sorted(order) == sorted([name for _, name, _ in documents] * 2)


def _use_slots(limiter: SlotLimiter, organization_id: uuid.UUID, name: str, size: int, order: list[str]) -> None:
    with limiter.admit(organization_id, size=size):
        for _ in range(2):
            with limiter.slot():
                order.append(name)
                # All others that still have something to do wait for a slot by now.
                while _waiting(limiter) < _unfinished(order) - 1:
                    time.sleep(0.001)


def _waiting(limiter: SlotLimiter) -> int:
    """How many documents wait: in the process, or as its candidate for a slot of the machine."""
    return len(limiter._waiting) + limiter._has_candidate


def _unfinished(order: list[str]) -> int:
    """How many of the four documents still hold or need one of their two slots."""
    return 4 - sum(order[:-1].count(name) == 2 for name in set(order))


def test_waiting_is_bounded(busy_machine: contextlib.ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expensive_work_limiter, "MAX_WAIT_SECONDS", 0.05)
    limiter = _limiter()
    with (
        limiter.admit(HOME, size=_LONG),
        pytest.raises(TooManyLongRequests),
        limiter.slot(),
    ):
        pass
    busy_machine.close()
    with limiter.admit(HOME, size=_LONG), limiter.slot():
        pass


def test_a_folder_that_cannot_be_written_is_no_busy_server(settings: Any, tmp_path: Path) -> None:
    limiter, folder = _limiter(), settings.RAG_TEMP_FOLDER
    settings.RAG_TEMP_FOLDER = tmp_path / "file"
    settings.RAG_TEMP_FOLDER.touch()
    with limiter.admit(HOME, size=_LONG), pytest.raises(StorageFailed, match="temporary folder"), limiter.slot():
        pass
    settings.RAG_TEMP_FOLDER = folder
    with limiter.admit(HOME, size=_LONG), limiter.slot():
        pass


def test_a_question_waits_for_no_document(busy_machine: contextlib.ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same text, as a document, does."""
    monkeypatch.setattr(expensive_work_limiter, "MAX_WAIT_SECONDS", 0.05)
    embedder = provider_factory.local_embedder()
    vector, _ = embedder.embed_with_token_vectors("Where are the keys?")
    assert vector.shape == (384,)
    with DOCUMENT_LIMITER.admit(HOME, size=10), pytest.raises(EmbeddingFailed, match="Too many documents") as caught:
        embedder.embed(["Where are the keys?"])
    assert (caught.value.is_rate_limited, caught.value.is_retryable, caught.value.retry_after_seconds) == (
        True,
        True,
        0.05,
    )


def test_each_run_of_a_document_has_a_slot_of_its_own(settings: Any) -> None:
    """Between its runs the slot is free, so that somebody else's document need not wait for the whole of it."""
    settings.RAG_MAX_DOCUMENT_EMBEDDINGS = 1
    limiter, embedder = DOCUMENT_LIMITER, provider_factory.local_embedder()
    texts = [f"Zebra number {number} has stripes." for number in range(30)]
    with limiter.admit(HOME, size=_LONG):
        before = next(limiter._numbers)
        embedder.embed(texts)
        assert next(limiter._numbers) - before - 1 >= 4  # at most 8 texts in a run
