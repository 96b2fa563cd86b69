"""Restores a backup into an empty database and an empty storage."""

from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from accounts.management.commands.migrate import few_renderings
from rag.providers import file_storage
from ragsite.postgres import identity
from ragsite.postgres.statements import copy_tables
from ragsite.postgres.statements.copy_tables import Table

from .archive import ArchiveReader, InvalidArchive
from .manifest import Manifest

OnProgress = Callable[[str, int], None]


class RestoreRefused(Exception):
    """The target is not empty, or this version cannot read the backup. Nothing was changed."""


def restore(path: Path, on_progress: OnProgress) -> Manifest:
    """Verify the archive, then write its rows and files. Run `manage.py migrate` afterwards.

    Returns:
        The manifest of the archive.

    Raises:
        InvalidArchive: The archive is incomplete or damaged. Nothing was changed.
        RestoreRefused: The target is not empty, or this version cannot read the backup. Nothing was changed.
        StorageFailed: The storage did not answer. The rows were written already, not all files.
    """
    reader = ArchiveReader(path)
    with identity.run_as(identity.OWNER):
        if not copy_tables.is_empty():
            raise RestoreRefused("The database has tables already. Restore into a new one, before `migrate`.")
        if file_storage.has_originals():
            raise RestoreRefused("The file storage has original files already. Name an empty folder or bucket.")
        targets = _migration_targets([(app, name) for app, name in reader.manifest["migrations"]])
        reader.verify()
        on_progress("verified", 0)
        with few_renderings():
            MigrationExecutor(connection).migrate(targets)
        _load_tables(reader, on_progress)
        copy_tables.analyze()
    for name, size, content in reader.originals():
        file_storage.write(name, content, max_bytes=size)
        on_progress("original files", 1)
    return reader.manifest


def _migration_targets(applied: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the last migrations of each app that the backup's database had.

    Raises:
        RestoreRefused: If this version does not know one of them.
    """
    graph = MigrationExecutor(connection).loader.graph
    if unknown := sorted(key for key in applied if key not in graph.nodes):
        names = ", ".join(f"{app} {name}" for app, name in unknown[:5])
        raise RestoreRefused(f"A newer version made the backup. This one does not know: {names}.")
    known = set(applied)
    return [
        key
        for key in applied
        if not any(child.key in known and child.key[0] == key[0] for child in graph.node_map[key].children)
    ]


def _load_tables(reader: ArchiveReader, on_progress: OnProgress) -> None:
    tables = {entry["name"]: entry for entry in reader.manifest["tables"]}
    columns = {name: set(entry["columns"]) for name, entry in tables.items()}
    existing = {table.name: set(table.columns) for table in copy_tables.list_tables()}
    if differing := sorted(name for name in existing | columns if existing.get(name) != columns.get(name, set())):
        raise InvalidArchive(f"These tables differ from the migrations of the backup: {', '.join(differing)}.")
    with copy_tables.loading(memory_mb=settings.RAG_INDEX_BUILD_MEMORY_MB, sequences=reader.manifest["sequences"]):
        for name, rows in reader.tables():
            count = copy_tables.copy_in(Table(name, tuple(tables[name]["columns"])), rows)
            if count != tables[name]["rows"]:
                raise InvalidArchive(f"{name} has {count:,} rows instead of {tables[name]['rows']:,}.")
            on_progress(name, count)
