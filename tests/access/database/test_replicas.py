"""Searches on two read replicas: never by an older access rule than the primary's, and with the caller's own changes."""

import shutil
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from rag.models import Action, DataSource, Document
from rag.services.search import permitted_queries
from rag.types import Mode, Question
from ragsite.observability import measurement_buffer
from ragsite.postgres import identity
from ragsite.postgres.replicas import positions, routing
from tests.access.database.injection import web_process
from tests.support.factories import World, ingest_text
from tests.support.servers import replicas as servers
from tests.support.servers.replicas import Replica


@pytest.fixture(scope="module")
def servers_of_module(django_db_setup: None, django_db_blocker: Any) -> Iterator[list[Replica]]:
    with django_db_blocker.unblock():
        started = servers.create(2)
    yield started
    for replica in started:
        replica.stop()
        shutil.rmtree(replica.folder)


@pytest.fixture
def replicas(
    servers_of_module: list[Replica], live_world: World, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> list[Replica]:
    """Two replicas, which web processes use."""
    settings.RAG_DATABASE_REPLICAS = [replica.address for replica in servers_of_module]
    settings.RAG_REPLICA_MAX_LAG_SECONDS = 3_600.0
    monkeypatch.setattr(positions, "_history", positions._History())
    monkeypatch.setattr(routing, "_replicas", {})
    monkeypatch.setattr(routing, "_PAUSE_SECONDS", 0.0)
    for replica in servers_of_module:
        replica.resume()
    return servers_of_module


@pytest.fixture
def in_sync(replicas: list[Replica], eventually: Callable[..., Any]) -> Callable[..., None]:
    """Waits until replicas have replayed all that the primary has written."""

    def wait(*waited_for: Replica) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_current_wal_flush_lsn() - '0/0'")
            (written,) = cursor.fetchone()
        for replica in waited_for or replicas:
            eventually(lambda replica=replica: replica.position() >= written)

    return wait


def search(caller: Caller, text: str = "animals", **options: Any) -> tuple[set[uuid.UUID], bool]:
    """Return the documents that a search in a web process finds, and whether a replica was used."""
    measurement_buffer.take()
    with web_process(), identity.run_as(caller.database_identity):
        question = Question(text, top_k=50, **options)
        found = permitted_queries.search(question, permitted_queries.SourceSelection(caller))
    used = any(key.name == "search_on_replica" for key in measurement_buffer.take().totals)
    return {passage.document_id for passage in found.passages}, used


def test_every_kind_of_search_gives_the_same_answers(
    live_world: World, in_sync: Callable[..., None], settings: Any
) -> None:
    caller = Caller(live_world.users["member"])
    for number in range(3):
        source = live_world.source(f"s{number}")
        for name in ("zebra", "okapi", "Giraffen"):
            ingest_text(source, name, f"The {name} of herd {number} eats grass. Herds of {name} live in the savanna.")
    settings.RAG_DATABASE_REPLICAS, addresses = [], settings.RAG_DATABASE_REPLICAS
    kinds = [
        {"text": text, "mode": mode, "rerank": rerank}
        for text in ("Which animals eat grass?", "Wo leben die Giraffen?")
        for mode in Mode
        for rerank in (False, True)
    ]
    expected = [search(caller, **kind) for kind in kinds]
    settings.RAG_DATABASE_REPLICAS = addresses
    search(caller)  # notes that Redis has positions
    in_sync()
    assert [search(caller, **kind) for kind in kinds] == [(found, True) for found, _ in expected]
    assert all(found for found, _ in expected)
