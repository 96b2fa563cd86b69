"""PgBouncer and read replicas of the tests' PostgreSQL, which web processes of a test use."""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from ragsite.postgres.replicas import positions, routing
from tests.support.factories import World
from tests.support.servers import replicas as servers
from tests.support.servers.pgbouncer import PgBouncer
from tests.support.servers.replicas import Replica


@pytest.fixture(name="start")
def start_pooler(transactional_db: None, settings: Any, eventually: Callable[..., Any]) -> Iterator[Callable[..., int]]:
    """Starts PgBouncer and lets web processes use it."""
    folders: list[Path] = []
    started: list[PgBouncer] = []

    def start_pgbouncer(**options: Any) -> int:
        folder = Path(tempfile.mkdtemp())  # other users cannot open pytest's folders
        folders.append(folder)
        started.append(PgBouncer(folder, **options))
        eventually(started[0].is_ready)
        settings.RAG_DATABASE_POOLER = {"HOST": "127.0.0.1", "PORT": started[0].port, "NAME": "pooled"}
        return started[0].port

    yield start_pgbouncer
    for process in started:
        process.stop()
    for folder in folders:
        shutil.rmtree(folder)


@pytest.fixture(scope="package")
def replica_servers(django_db_setup: None, django_db_blocker: Any) -> Iterator[list[Replica]]:
    with django_db_blocker.unblock():
        started = servers.create(2)
    yield started
    for replica in started:
        replica.delete()


@pytest.fixture
def replicas(
    replica_servers: list[Replica], live_world: World, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> list[Replica]:
    """Two replicas, which web processes use."""
    settings.RAG_DATABASE_REPLICAS = [replica.address for replica in replica_servers]
    settings.RAG_REPLICA_MAX_LAG_SECONDS = 3_600.0
    monkeypatch.setattr(positions, "_history", positions.History())
    redis_positions = positions.RedisPositions()
    redis_positions.read([], 0)  # Redis has lost nothing, even if no search has used it yet
    monkeypatch.setattr(positions, "_redis_positions", redis_positions)
    monkeypatch.setattr(routing, "_replicas", {})
    monkeypatch.setattr(routing, "_PAUSE_SECONDS", 0.0)
    for replica in replica_servers:
        replica.resume()
    return replica_servers


@pytest.fixture
def in_sync(replicas: list[Replica], eventually: Callable[..., Any]) -> Callable[..., None]:
    """Waits until replicas have replayed all that the primary has written."""

    def wait(waited_for: Iterable[Replica] = replicas) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_current_wal_insert_lsn() - '0/0'")
            (written,) = cursor.fetchone()
            cursor.execute("SELECT pg_logical_emit_message(true, 'test', '')")  # its commit flushes what is before it
        for replica in waited_for:
            eventually(lambda replica=replica: replica.position() >= written)

    return wait
