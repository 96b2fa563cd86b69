"""A sync: what it sends, renames and deletes, and what stops it from deleting."""

import os
from pathlib import Path
from typing import Any

import pytest

from rag.models import Chunk, Document, SyncConnection, SyncRun
from rag.services.ingestion.sync import listing, removal, run_actions
from rag.services.sources import documents
from tests.services.ingestion.sync.conftest import Sync, contents, fill, run_to_end
from tests.support.factories import World, ingest_text

pytestmark = pytest.mark.django_db
State = SyncRun.State


def counts(run: SyncRun) -> dict[str, int]:
    names = ("listed", "added", "changed", "renamed", "removed", "failed")
    return {name: getattr(run, name) for name in names if getattr(run, name)}


def test_a_sync_sends_changes_and_removes_what_disappeared(
    connection: SyncConnection, sync: Sync, folder: Path
) -> None:
    fill(folder, 6)
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "note.txt").write_text("The green door leads to the garden.")
    assert counts(sync()) == {"listed": 7, "added": 7}
    assert contents(connection.source)["deep/er/note.txt"] == "The green door leads to the garden."

    unchanged = Document.objects.get(path="1.md").revision
    (folder / "0.md").write_text("# Page 0\n\nThe lamp is gone.")
    (folder / "2.md").unlink()
    (folder / "new.md").write_text("Something new.")
    run = sync()
    assert (run.state, counts(run)) == (State.FINISHED, {"listed": 7, "added": 1, "changed": 1, "removed": 1})
    assert set(contents(connection.source)) == {"0.md", "1.md", "3.md", "4.md", "5.md", "deep/er/note.txt", "new.md"}
    assert "The lamp is gone." in contents(connection.source)["0.md"]
    assert Document.objects.get(path="1.md").revision == unchanged
    assert counts(sync()) == {"listed": 7}


def test_a_touched_file_is_not_submitted(connection: SyncConnection, sync: Sync, folder: Path) -> None:
    fill(folder, 1)
    sync()
    jobs = connection.source.jobs.count()
    (folder / "0.md").write_text((folder / "0.md").read_text())
    assert counts(sync()) == {"listed": 1}
    assert connection.source.jobs.count() == jobs


def test_a_renamed_file_keeps_its_chunks(connection: SyncConnection, sync: Sync, folder: Path) -> None:
    fill(folder, 6)
    (folder / "plain.txt").write_text("No heading names this text.")
    sync()
    before = set(Chunk.objects.values_list("pk", flat=True))
    (folder / "moved").mkdir()
    (folder / "3.md").rename(folder / "moved" / "three.md")
    (folder / "plain.txt").rename(folder / "other.txt")
    run = sync()
    assert (run.state, counts(run)) == (State.FINISHED, {"listed": 7, "renamed": 2})
    assert set(Chunk.objects.values_list("pk", flat=True)) == before
    titles = dict(Document.objects.live().values_list("path", "title"))
    assert (titles["moved/three.md"], titles["other.txt"]) == ("three.md", "other.txt")
    assert "3.md" not in titles
    assert counts(sync()) == {"listed": 7}


def test_an_edit_after_a_renaming_embeds_the_changed_chunk_only(
    connection: SyncConnection, sync: Sync, folder: Path
) -> None:
    sections = [f"# Part {index}\n\n" + f"The lamp number {index} is in room {index}. " * 40 for index in range(3)]
    (folder / "book.md").write_text("\n\n".join(sections))
    sync()
    first, *_, last = Chunk.objects.order_by("position").values_list("pk", flat=True)
    (folder / "book.md").rename(folder / "novel.md")
    assert counts(sync()) == {"listed": 1, "renamed": 1}
    (folder / "novel.md").write_text("\n\n".join([*sections[:2], "# Part 2\n\nNothing is left."]))
    sync()
    kept = set(Chunk.objects.values_list("pk", flat=True))
    assert first in kept
    assert last not in kept


def test_another_ending_is_parsed_again(connection: SyncConnection, sync: Sync, folder: Path) -> None:
    fill(folder, 6)
    sync()
    (folder / "3.md").rename(folder / "3.txt")
    assert counts(sync()) == {"listed": 6, "added": 1, "removed": 1}
    assert Document.objects.live().get(path="3.txt").content_type == "text/plain"


def test_many_removals_wait_for_a_confirmation(connection: SyncConnection, sync: Sync, folder: Path) -> None:
    fill(folder, 20)
    sync()
    for index in range(6):
        (folder / f"{index}.md").unlink()
    (folder / "new.md").write_text("It is not held up.")
    run = sync()
    assert (run.state, run.missing, run.removed, run.added) == (State.WAITING, 6, 0, 1)
    assert len(contents(connection.source)) == 21
    run_actions.refuse_removal(run)
    assert (run_to_end(connection).state, len(contents(connection.source))) == (State.WAITING, 21)
    waiting = SyncRun.objects.get(state=State.WAITING)
    run_actions.confirm_removal(waiting)
    assert sync(waiting).removed == 6
    assert len(contents(connection.source)) == 15
    with pytest.raises(run_actions.SyncRefused):
        run_actions.confirm_removal(waiting)


@pytest.mark.parametrize(
    ("missing", "total", "expected"),
    [(0, 0, False), (5, 10, False), (6, 30, False), (6, 29, True), (1, 1, True), (0, 3, False), (4, 5, False)],
)
def test_when_a_removal_needs_confirmation(missing: int, total: int, expected: bool) -> None:
    assert removal.needs_confirmation(missing=missing, total=total) is expected


def test_a_later_sync_replaces_one_that_waits(connection: SyncConnection, sync: Sync, folder: Path) -> None:
    fill(folder, 1)
    sync()
    content = (folder / "0.md").read_text()
    (folder / "0.md").unlink()
    waiting = sync()
    assert waiting.state == State.WAITING
    (folder / "0.md").write_text(content)
    assert sync().state == State.FINISHED
    waiting.refresh_from_db()
    assert (waiting.state, waiting.error) == (State.FINISHED, run_actions.SUPERSEDED)
    assert set(contents(connection.source)) == {"0.md"}


def test_a_failed_listing_removes_nothing(
    connection: SyncConnection, sync: Sync, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, 30)
    (folder / "locked").mkdir()
    sync()
    (folder / "1.md").unlink()
    read = os.scandir
    # Root may read every folder, so that permissions cannot cause it.
    inode = (folder / "locked").stat().st_ino

    def fail_for_one(descriptor: int) -> Any:
        if os.fstat(descriptor).st_ino == inode:
            raise PermissionError(13, "denied")
        return read(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", fail_for_one)
        run = sync()
    assert (run.state, run.error) == (State.FAILED, "locked cannot be read: Permission denied.")
    assert len(contents(connection.source)) == 30
    run_actions.resume(run)
    assert sync(run).removed == 1


def test_a_listing_continues_after_its_last_page(
    connection: SyncConnection, sync: Sync, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a/b/c.txt", "a/b.txt", "a.txt", "b/a.txt", "c.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    monkeypatch.setattr("rag.providers.connectors.folder_walk.MAX_PAGE_ENTRIES", 1)
    run = run_actions.start(connection, by=None)
    while run.phase == SyncRun.Phase.LISTING:  # the time is over after each page
        listing.list_items(run, deadline=0)
        run.refresh_from_db()
    assert run.listed == 5
    assert sync(run).added == 5


def test_too_many_items_are_refused(connection: SyncConnection, sync: Sync, folder: Path, settings: Any) -> None:
    fill(folder, 3)
    settings.RAG_SYNC_MAX_ITEMS = 2
    assert sync().error.startswith("There are more than 2 items. Divide them among")
    assert contents(connection.source) == {}


def test_failed_items_are_reported_and_tried_again(connection: SyncConnection, sync: Sync, folder: Path) -> None:
    fill(folder, 2)
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 this is none")
    (folder / "what.bin").write_bytes(bytes(range(256)) * 10)
    run = sync()
    assert counts(run) == {"listed": 4, "added": 2, "failed": 2}
    assert {(error["path"], error["code"]) for error in run.errors} == {
        ("broken.pdf", "PARSE_ERROR"),
        ("what.bin", "UNSUPPORTED_FORMAT"),
    }
    assert counts(sync()) == {"listed": 4, "failed": 2}
    (folder / "what.bin").unlink()
    (folder / "broken.pdf").unlink()
    assert counts(sync()) == {"listed": 2}


def test_files_that_are_too_large_fail_alone(
    connection: SyncConnection, sync: Sync, folder: Path, settings: Any
) -> None:
    fill(folder, 1)
    (folder / "large.txt").write_text("a" * 1001)
    settings.RAG_MAX_FILE_BYTES = 1000
    run = sync()
    assert (counts(run), run.errors[0]["code"]) == ({"listed": 2, "added": 1, "failed": 1}, "DOCUMENT_TOO_LARGE")
    assert list(Path(settings.RAG_TEMP_FOLDER).iterdir()) == []


def test_what_others_deleted_or_replaced_is_sent_again(connection: SyncConnection, sync: Sync, folder: Path) -> None:
    fill(folder, 2)
    sync()
    before = contents(connection.source)
    documents.delete_document(Document.objects.live().get(path="0.md"))
    Document.objects.filter(path="1.md").update(text="replaced", content_hash="other")
    run = sync()
    assert (run.state, contents(connection.source)) == (State.FINISHED, before)


def test_documents_of_others_stay(world: World, connection: SyncConnection, sync: Sync, folder: Path) -> None:
    fill(folder, 1)
    sync()
    ingest_text(connection.source, "uploaded.txt", "Somebody has sent this.")
    assert counts(sync()) == {"listed": 1}
    assert set(contents(connection.source)) == {"0.md", "uploaded.txt"}
