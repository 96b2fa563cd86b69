"""`manage.py backup` and `restore`: all rows and files, as of one moment, into an empty database only."""

import contextlib
import io
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from orgs.access.permissions import Visibility
from rag.models import Document, Original
from rag.models.content.originals import storage_path
from rag.providers import file_storage
from rag.services.maintenance.backup import create
from rag.services.maintenance.backup.archive import ArchiveReader
from rag.services.sources import documents, original_files, purge
from ragsite.postgres import identity
from ragsite.settings.rag.files import folder_storage
from tests.services.jobs.uploading import purge_unused_files, send, store, upload
from tests.support.factories import World, ingest_text

RESTORED = "restored_archive"


def owner_sql(statement: str) -> list[tuple[Any, ...]]:
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []


def contents() -> dict[str, Any]:
    """Return the number and a hash of the rows of each table, and the indexes, policies, privileges and triggers."""
    names = [name for (name,) in owner_sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")]
    rows = {
        name: owner_sql(f"SELECT count(*), md5(string_agg(md5(t::text), '' ORDER BY md5(t::text))) FROM {name} t")
        for name in names
    }
    return rows | {
        "columns": owner_sql(
            "SELECT relname, relforcerowsecurity, relacl::text,"
            " string_agg(attname || attacl::text, ',' ORDER BY attnum)"
            " FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid"
            " WHERE relnamespace = 'public'::regnamespace GROUP BY 1, 2, 3 ORDER BY 1"
        ),
        # PostgreSQL writes the casts of a condition differently when it has read its own definition of the index.
        "indexes": sorted(
            re.sub(r"::[a-z ]+(\[\])?|[()]", "", definition)
            for (definition,) in owner_sql("SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'")
        ),
        "constraints": owner_sql(
            "SELECT conname, pg_get_constraintdef(oid), convalidated FROM pg_constraint ORDER BY 1, 2"
        ),
        "policies": owner_sql("SELECT tablename, policyname, qual FROM pg_policies ORDER BY 1, 2"),
        "triggers": owner_sql(
            "SELECT tgname, tgrelid::regclass::text, tgenabled FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2"
        ),
        "sequences": owner_sql("SELECT sequencename, last_value FROM pg_sequences ORDER BY 1"),
    }


@pytest.fixture
def empty_target(transactional_db: None, settings: Any, tmp_path: Path) -> Iterator[Callable[[], Any]]:
    """Returns a context manager: inside it, the process uses a new database and an empty file storage."""
    original = connection.settings_dict["NAME"]
    name = f"{RESTORED}_{original}"

    def use(database: str, folder: Path) -> None:
        connection.close()
        connection.settings_dict["NAME"] = database
        settings.STORAGES = {**settings.STORAGES, "default": folder_storage(folder)}

    @contextlib.contextmanager
    def switch() -> Iterator[None]:
        owner_sql(f'DROP DATABASE IF EXISTS "{name}"')
        owner_sql(f'CREATE DATABASE "{name}"')
        files = settings.RAG_STORAGE_FOLDER
        use(name, tmp_path / "restored-files")
        try:
            yield
        finally:
            use(original, files)

    yield switch
    owner_sql(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def search(secret: str) -> list[str]:
    reply = Client().post(
        "/api/rag/retrieve",
        {"query": "Which animal is striped?"},
        content_type="application/json",
        headers={"X-API-Key": secret},
    )
    if reply.status_code == 404 and reply.json()["error"] == "NO_RESULTS":
        return []
    return [passage["text"] for passage in reply.json()["documents"]]


def in_thread(function: Callable[[], object]) -> None:
    """Run the function as another process would: with a connection of its own."""

    def run() -> None:
        with identity.run_as(identity.WORKER):
            function()
        connection.close()

    with ThreadPoolExecutor(1) as executor:
        executor.submit(run).result()


def test_a_backup_is_of_one_moment_and_restores_it(
    live_world: World, tmp_path: Path, empty_target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents that are deleted, purged and added while the backup is made change nothing in it."""
    world, archive = live_world, tmp_path / "backup.tar"
    zoo, diary = world.source("zoo"), world.source("diary", visibility=Visibility.PERSONAL)
    world.source("abroad", organization=world.abroad, owner=world.users["foreigner"])
    monkeypatch.setattr(original_files, "MAX_BYTES_IN_ROW", 20)  # of the two files one is in its row
    send(world, zoo, upload("zebra.txt", b"The zebra is striped."), upload("note.txt", b"An okapi."))
    ingest_text(diary, "dream.txt", "I dreamed of a striped animal.")
    secrets = {name: world.key(name).secret for name in ("owner", "member")}
    secrets["foreigner"] = world.key("foreigner", organization=world.abroad).secret
    answers = {name: search(secret) for name, secret in secrets.items()}
    assert [len(answers[name]) for name in ("owner", "member", "foreigner")] == [3, 2, 0]
    before, small = contents(), Original.objects.get(name="note.txt")
    stored = Original.objects.get(name="zebra.txt")
    steps: list[str] = []

    def change_everything() -> None:
        documents.delete_document(Document.objects.get(path="zebra.txt"))
        purge.purge_deleted()
        purge_unused_files()
        ingest_text(zoo, "okapi.txt", "The okapi is striped at its legs.")

    def on_progress(step: str, count: int) -> None:
        steps.append(step)
        if len(steps) == 1:
            in_thread(change_everything)

    backup = create.create(archive, on_progress)
    assert (backup.files, backup.lost_files) == (1, 0)
    assert Original.objects.filter(pk=stored.pk).exists(), "no file is purged while a backup is made"
    purge_unused_files()
    assert Original.objects.get() == small
    assert archive.stat().st_mode & 0o777 == 0o600
    with empty_target():
        damaged, cut = tmp_path / "damaged.tar", tmp_path / "cut.tar"
        content = archive.read_bytes()
        damaged.write_bytes(content.replace(b"The zebra is striped.", b"The zebra is stripes."))
        cut.write_bytes(content[: len(content) // 2])
        for path, message in ((damaged, "original files differ"), (cut, "no manifest|cannot be read")):
            with pytest.raises(CommandError, match=message):
                call_command("restore", path, stderr=io.StringIO())
        assert owner_sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == [(0,)]
        call_command("restore", archive, stdout=io.StringIO(), stderr=io.StringIO())
        restored = contents()
        assert {
            name: set(before[name]) ^ set(restored[name]) for name in before if before[name] != restored[name]
        } == {}
        assert {name: search(secret) for name, secret in secrets.items()} == answers
        for original, content in ((stored, b"The zebra is striped."), (small, b"An okapi.")):
            with file_storage.local_copy(Original.objects.get(pk=original.pk)) as path:
                assert path.read_bytes() == content
        ingest_text(zoo, "quagga.txt", "The quagga was striped in front.")
        assert len(search(secrets["member"])) == 3
        with identity.run_as(identity.ANONYMOUS), connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM rag_chunk")
            assert cursor.fetchone() == (0,), "the roles' policies are part of the backup"
        with pytest.raises(CommandError, match="has tables already"):
            call_command("restore", archive, stderr=io.StringIO())


@pytest.mark.usefixtures("small_files_in_storage")
def test_a_backup_names_the_files_that_the_storage_lost(live_world: World, tmp_path: Path, stored_files: Path) -> None:
    """The rest is stored: a single lost file must not prevent every backup."""
    send(live_world, live_world.source(), upload("a.txt", b"Alpha"), upload("b.txt", b"Beta"))
    lost = Original.objects.get(name="a.txt")
    (stored_files / storage_path(lost)).unlink()
    archive = tmp_path / "backup.tar"
    with pytest.raises(CommandError, match=str(lost.pk)):
        call_command("backup", archive, stdout=io.StringIO(), stderr=io.StringIO())
    reader = ArchiveReader(archive)
    reader.verify()
    assert [(name, content.read()) for name, _, content in reader.originals()] == [
        (storage_path(Original.objects.get(name="b.txt")), b"Beta")
    ]
    with pytest.raises(CommandError, match="exists"):
        call_command("backup", archive, stderr=io.StringIO())


@pytest.mark.usefixtures("small_files_in_storage")
def test_a_storage_with_files_is_refused(live_world: World, tmp_path: Path, empty_target: Any, settings: Any) -> None:
    archive = tmp_path / "backup.tar"
    store(live_world.source())
    create.create(archive, lambda step, count: None)
    with empty_target():
        settings.STORAGES = {**settings.STORAGES, "default": folder_storage(settings.RAG_STORAGE_FOLDER)}
        with pytest.raises(CommandError, match="storage has original files"):
            call_command("restore", archive, stderr=io.StringIO())


def test_a_backup_of_a_newer_version_is_refused(live_world: World, tmp_path: Path, empty_target: Any) -> None:
    archive = tmp_path / "backup.tar"
    owner_sql("INSERT INTO django_migrations (app, name, applied) VALUES ('rag', '9999_future', now())")
    try:
        create.create(archive, lambda step, count: None)
    finally:
        owner_sql("DELETE FROM django_migrations WHERE name = '9999_future'")
    with empty_target(), pytest.raises(CommandError, match="rag 9999_future"):
        call_command("restore", archive, stderr=io.StringIO())


def test_every_secret_variable_is_named(settings: Any) -> None:
    """A new variable with a secret must be added to the list that each backup and the documentation have."""
    secret = re.compile(r"(_KEYS?|_KEY_ID|_TOKEN|_PASSWORD|_SECRET)$|^(DATABASE|REDIS)_URL$")
    names = {name for name in settings.ENVIRONMENT_VARIABLES if secret.search(name)}
    assert len(names) > 5
    assert names <= set(create.SECRETS)
    page = (settings.BASE_DIR / "docs" / "operations" / "backup-and-upgrade.md").read_text()
    assert [name for name in create.SECRETS if f"`{name}`" not in page] == []
