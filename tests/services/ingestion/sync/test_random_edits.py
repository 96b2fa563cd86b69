"""Random edits of a folder, and syncs that are interrupted at random: the source equals the folder afterwards.

`make syncs` does the same with more edits and killed processes.
"""

import random
from pathlib import Path
from typing import Any

import pytest

from rag.models import Chunk, SyncConnection, SyncRun
from rag.services.ingestion.sync import background, run_actions, runs
from tests.services.ingestion.sync.conftest import Sync, contents
from tests.support.factories import process_queue
from tests.system.syncs.folder import EditedFolder

State = SyncRun.State


class Interrupted(BaseException):
    """Stands for the end of the process."""


@pytest.mark.django_db
def test_the_source_equals_the_folder(
    connection: SyncConnection, sync: Sync, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(20)
    edited = EditedFolder(folder, chance, number=20)
    sync()
    update, interruptions = runs.update, 0

    def update_or_end(run: SyncRun, **values: Any) -> None:
        ends_before, ends_after = chance.random() < 0.15, chance.random() < 0.15
        if ends_before:
            raise Interrupted
        update(run, **values)
        if ends_after:
            raise Interrupted

    monkeypatch.setattr(runs, "update", update_or_end)
    for _ in range(3):
        before = {(chunk.document.path, chunk.text): chunk.pk for chunk in Chunk.objects.select_related("document")}
        done = edited.edit(15)
        run = run_actions.start(connection, by=None)
        while run.state in SyncRun.OPEN_STATES:
            try:
                background.advance_due()
            except Interrupted:
                interruptions += 1
            if chance.random() < 0.5:
                process_queue()
            run.refresh_from_db()
            if run.state == State.WAITING:
                run_actions.confirm_removal(run)
        assert (run.state, run.failed, contents(connection.source)) == (State.FINISHED, 0, edited.texts())
        live = Chunk.objects.filter(document__deleted_at=None).select_related("document")
        after = {(chunk.document.path, chunk.text): chunk.pk for chunk in live}
        for (path, text), chunk_id in before.items():
            kept = after.get((done.renamed.get(path, path), text))
            assert kept in (None, chunk_id), "an unchanged chunk was written again"
    assert interruptions > 5
