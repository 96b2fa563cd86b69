"""A data source that is synced from a folder, and helpers that run a sync to its end without a worker."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag.models import DataSource, Document, SyncConnection, SyncKind, SyncRun
from rag.services.ingestion.sync import background, run_actions
from tests.support.factories import World, process_queue

Sync = Callable[..., SyncRun]


def run_to_end(connection: SyncConnection, run: SyncRun | None = None) -> SyncRun:
    """Sync, and ingest what the sync submits, until nothing is left to do."""
    run = run or run_actions.start(connection, by=None)
    for _ in range(100):
        background.advance_due()
        process_queue()
        run.refresh_from_db()
        if run.state != SyncRun.State.RUNNING:
            return run
    raise AssertionError(f"the sync did not end: {run.phase}")


def contents(source: DataSource) -> dict[str, str]:
    """Path → text of the source's documents."""
    live = Document.objects.live().filter(source=source)
    return dict(live.values_list("path", "text"))


def fill(folder: Path, number: int) -> None:
    for index in range(number):
        (folder / f"{index}.md").write_text(f"# Page {index}\n\nThe lamp number {index} is in room {index}.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "shared"
    path.mkdir()
    return path


@pytest.fixture
def connection(world: World, folder: Path, settings: Any) -> SyncConnection:
    settings.RAG_SYNC_FOLDERS = {world.home.slug: [str(folder)]}
    return SyncConnection.objects.create(
        source=world.source("synced"), kind=SyncKind.FOLDER, location=str(folder), acts_for=world.users["owner"]
    )


@pytest.fixture
def sync(connection: SyncConnection) -> Sync:
    """sync() runs a sync of the connection to its end."""
    return lambda run=None: run_to_end(connection, run)
