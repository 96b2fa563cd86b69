"""Calls that do not return: syncs give them up, and they do not pile up."""

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from rag.providers.connectors import bounded_calls
from rag.providers.connectors.base import ListingFailed
from rag.providers.connectors.bounded_calls import ABANDONED_SECONDS, MAX_ABANDONED, BoundedCalls
from rag.providers.connectors.local_folder import FolderConnector


@pytest.fixture
def is_over(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    monkeypatch.setattr(bounded_calls, "TIMEOUT_SECONDS", 0.01)
    is_over = threading.Event()
    yield is_over
    is_over.set()


def test_a_server_that_stays_away_is_asked_less_and_less_often(
    is_over: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(bounded_calls, "time", SimpleNamespace(monotonic=lambda: now))
    hours_of_calls = list[int]()
    for hour in range(24):
        now = hour * (ABANDONED_SECONDS + 1.0)
        for _ in range(2 * MAX_ABANDONED):
            with pytest.raises(ListingFailed) as failure:
                BoundedCalls("server").call(is_over.wait)
            hours_of_calls += [hour] if "in time" in str(failure.value) else []
    assert sorted(set(hours_of_calls)) == [0, 1, 3, 6, 10, 15, 21]
    assert len(hours_of_calls) == 7 * MAX_ABANDONED


def test_a_folder_that_does_not_answer_keeps_no_sync_waiting(
    tmp_path: Path, is_over: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as that of a server of NFS that is down."""
    (tmp_path / "a.txt").write_text("Bees.")
    connector = FolderConnector(str(tmp_path), allowed=[str(tmp_path)])
    monkeypatch.setattr("os.scandir", lambda _: is_over.wait())
    with pytest.raises(ListingFailed, match="in time"):
        list(connector.list_pages(None))


def test_a_file_that_does_not_open_keeps_no_sync_waiting(
    tmp_path: Path, is_over: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("Bees.")
    connector = FolderConnector(str(tmp_path), allowed=[str(tmp_path)])
    monkeypatch.setattr("os.fdopen", lambda *_: is_over.wait())
    with pytest.raises(ListingFailed, match="in time"), connector.open("a.txt", validators={}):
        pass
