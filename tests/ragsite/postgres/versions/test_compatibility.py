"""A database of a version before 0.1.0 is refused with one sentence (ragsite.postgres.versions.compatibility)."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import psycopg
import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from ragsite.postgres.versions import compatibility
from ragsite.run import gunicorn_config
from tests.access.database.injection import web_process
from tests.support.factories import World

ROOT = Path(__file__).parents[4]
MESSAGE = "This database was created by a version before 0.1.0 and cannot be upgraded"
# What Django stored when the first migration of an earlier version was applied.
EARLIER_VERSION = """
CREATE TABLE django_migrations (id bigserial PRIMARY KEY, app text, name text, applied timestamptz DEFAULT now());
INSERT INTO django_migrations (app, name) VALUES ('rag', '0001_initial'), ('rag', '0022_second_fence');
"""


@pytest.fixture
def outdated_database() -> Iterator[str]:
    url = os.environ["DATABASE_URL"]
    name = f"outdated_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        outdated_url = url.replace(f"{urlsplit(url).path}?", f"/{name}?")
        try:
            with psycopg.connect(outdated_url) as database:
                database.execute(EARLIER_VERSION)
            yield outdated_url
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize(
    "command",
    [
        ["manage.py", "migrate"],
        ["-m", "celery", "-A", "ragsite", "worker", "--pool", "solo", "--queues", "unused"],
        ["-m", "ragsite.run.web", "127.0.0.1:%s"],
    ],
    ids=["migrate", "worker", "web"],
)
def test_an_outdated_database_is_refused(outdated_database: str, command: list[str]) -> None:
    environment = {**os.environ, "DATABASE_URL": outdated_database, "DJANGO_SETTINGS_MODULE": "ragsite.settings"}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [argument.replace("%s", str(port)) for argument in command]
    result = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
    )
    assert result.returncode != 0
    assert MESSAGE in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.django_db
def test_a_current_database_is_accepted() -> None:
    assert not compatibility.is_outdated(connection)
    assert compatibility.DatabaseValidation(connection).check() == []
    MigrationRecorder(connection).record_applied("rag", "0001_initial")
    assert compatibility.is_outdated(connection)
    assert [error.id for error in compatibility.DatabaseValidation(connection).check()] == ["ragsite.E003"]


@pytest.mark.django_db
def test_a_database_of_the_first_commits_of_the_release_is_refused() -> None:
    """`migrate` would end with a traceback about an inconsistent history."""
    MigrationRecorder(connection).record_unapplied("orgs", "0002_security")
    assert compatibility.is_outdated(connection)


def test_a_web_server_waits_for_the_migrations_before_it_accepts_requests(
    live_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder, missing, pauses = MigrationRecorder(connection), ("rag", "0060_access_version"), list[float]()
    name = connection.settings_dict["NAME"]

    def migrate(pause: float) -> None:
        pauses.append(pause)
        with psycopg.connect(os.environ["DATABASE_URL"], dbname=name) as owner:
            owner.execute("INSERT INTO django_migrations (app, name, applied) VALUES (%s, %s, now())", missing)

    monkeypatch.setattr(compatibility, "time", SimpleNamespace(sleep=migrate))
    recorder.record_unapplied(*missing)
    try:
        with web_process():
            gunicorn_config.on_starting(None)
        assert len(pauses) == 1
    finally:
        recorder.record_unapplied(*missing)
        recorder.record_applied(*missing)
