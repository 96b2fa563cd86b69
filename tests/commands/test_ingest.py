"""manage.py ingest: files and folders of this machine."""

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from rag.management.commands import ingest
from rag.models import Document, IngestionJob, Original
from tests.support import factories
from tests.support.factories import World


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    outside = tmp_path / "outside.txt"
    outside.write_text("Secret.")
    folder = tmp_path / "papers"
    (folder / "deep").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "a.md").write_text("# Zebras\n\nStripes.")
    (folder / "deep" / "b.txt").write_text("Lions.")
    (folder / ".hidden.txt").write_text("Hidden.")
    (folder / ".git" / "config.txt").write_text("Hidden.")
    (folder / "leads-out.txt").symlink_to(outside)
    (folder / "also-out").symlink_to(tmp_path)
    (folder / "linked.txt").symlink_to(folder / "deep" / "b.txt")
    return folder


def run(*arguments: Any, **options: Any) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("ingest", *map(str, arguments), stdout=out, stderr=err, **options)
    except CommandError as error:
        return str(error), err.getvalue()
    return out.getvalue(), err.getvalue()


@pytest.fixture
def immediate_processing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Process the documents while the command sleeps, in place of a worker."""

    def work(seconds: float) -> None:
        for job in IngestionJob.objects.filter(finished_at=None):
            factories.process_documents(ids=list(job.documents.values_list("pk", flat=True)))

    monkeypatch.setattr("rag.management.commands.ingest.time.sleep", work)


@pytest.mark.usefixtures("immediate_processing")
def test_a_folder_is_ingested_and_followed_to_the_end(
    world: World, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "MAX_FILES_PER_JOB", 2)
    source = world.source()
    out, _ = run(folder, source="library")
    assert "3 documents of library" in out
    assert sorted(Document.objects.values_list("path", flat=True)) == ["a.md", "deep/b.txt", "linked.txt"]
    assert [job.created_by for job in IngestionJob.objects.all()] == [world.users["owner"]] * 2
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7 and no more")
    (folder / "empty.txt").touch()
    out, err = run(folder, source="library", user="editor@home.example")
    assert out == "2 of 5 documents failed; the others can be searched."
    assert "bad.pdf: PARSE_ERROR" in err
    assert "empty.txt: the file is empty" in err
    out, _ = run("--reparse", source="library")
    assert "3 documents of library" in out
    assert set(source.jobs.first().documents.values_list("outcome", flat=True)) == {"updated"}  # type: ignore[union-attr]


@pytest.mark.usefixtures("immediate_processing")
def test_files_can_be_selected(world: World, folder: Path) -> None:
    world.source()
    run(folder, "--glob", "*.md", "--glob", "deep/*", source="library")
    assert sorted(Document.objects.values_list("path", flat=True)) == ["a.md", "deep/b.txt"]
    run(folder / "linked.txt", source="library")
    assert Document.objects.filter(path="linked.txt").exists()


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ([], {}, "Name files or folders"),
        (["nowhere"], {}, "There is no nowhere"),
        (["--reparse", "."], {}, "Name files or folders"),
        (["."], {"source": "unknown"}, "There is no data source unknown"),
        (["."], {"source": "twice"}, "choose by --organization"),
        (["."], {"user": "nobody@home.example"}, "There is no user"),
        (["."], {"user": "member@home.example"}, "may not send documents"),
        (["."], {"user": "foreigner@abroad.example"}, "may not send documents"),
    ],
)
def test_invalid_arguments_are_refused(
    world: World, arguments: list[str], options: dict[str, str], message: str
) -> None:
    world.source()
    for organization in (world.home, world.abroad):
        world.source("twice", organization=organization)
    assert message in run(*arguments, **{"source": "library", **options})[0]
    assert not Original.objects.exists()


@pytest.mark.usefixtures("immediate_processing")
def test_names_of_files_do_not_control_the_terminal(world: World, tmp_path: Path) -> None:
    (tmp_path / "\x1b]0;title\x07\u202etxt.pdf").write_bytes(b"%PDF-1.7 broken")
    world.source()
    _, err = run(tmp_path, source="library")
    assert "]0;title" in err
    assert {"\x1b", "\x07", "\u202e"}.isdisjoint(err)


def test_two_files_with_the_same_path_are_refused(world: World, folder: Path) -> None:
    world.source()
    other = folder.parent / "other"
    other.mkdir()
    (other / "a.md").write_text("Other.")
    assert "would have the same path, a.md" in run(folder, other, source="library")[0]
    assert not IngestionJob.objects.exists()


def test_an_interruption_says_that_the_jobs_are_still_processed(
    world: World, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rag.management.commands.ingest.time.sleep", stop)
    world.source()
    err = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("ingest", str(folder), source="library", stderr=err)
    assert ended.value.code == 130
    assert f"DELETE /api/rag/ingest/…: {IngestionJob.objects.get().pk}" in err.getvalue()
    assert IngestionJob.objects.get().status == "queued"
