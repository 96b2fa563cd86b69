"""Searches on two read replicas: never by an older access rule than the primary's, and with the caller's own changes."""

import os
import random
import shutil
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from rag.models import Action, DataSource, Document
from rag.pipeline.retrieval import retrieve
from rag.services.search import permitted_queries
from rag.types import Mode, Question
from ragsite.observability import measurement_buffer
from ragsite.postgres import identity
from ragsite.postgres.replicas import positions, routing
from tests.access import proof
from tests.access.database.access_changes import Changes
from tests.access.database.injection import web_process
from tests.support.factories import World, ingest_text
from tests.support.servers import replicas as servers
from tests.support.servers.replicas import Replica


STEPS = int(os.environ.get("PROVE_WORLDS", "40"))


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
    with web_process():
        return search_again(caller, text, **options)


def search_again(caller: Caller, text: str = "animals", **options: Any) -> tuple[set[uuid.UUID], bool]:
    """Search as `search` does, in a web process that exists already."""
    measurement_buffer.take()
    with identity.run_as(caller.database_identity):
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


def test_a_caller_finds_their_own_changes_at_once(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None]
) -> None:
    """Others find them when the replicas have replayed them, and nobody finds what was deleted."""
    editor, member, source = live_world.users["editor"], live_world.users["member"], live_world.source()
    kept = ingest_text(source, "kept", "animals that are kept").document_id
    deleted = ingest_text(source, "deleted", "animals that are deleted").document_id
    search(Caller(member))
    in_sync()
    for replica in replicas:
        replica.pause()
    assert search(Caller(member)) == ({kept, deleted}, True)
    assert deleted
    Document.objects.filter(pk=deleted).update(deleted_at=timezone.now())
    # The deleted chunk is missed, so the primary is asked as well.
    assert search(Caller(member)) == ({kept}, True)
    with web_process(), identity.run_as(Caller(editor).database_identity):
        routing.start_request()
        routing.end_request()  # any request that is no search
    assert search(Caller(editor)) == ({kept}, False)
    assert search(Caller(member)) == ({kept}, True)
    for replica in replicas:
        replica.resume()
    in_sync()
    assert search(Caller(editor)) == ({kept}, True)


def test_what_was_ingested_is_found_by_everybody(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None]
) -> None:
    """Also if the client that waits for the job is not the one that searches. Other organisations do not wait."""
    member, foreigner = Caller(live_world.users["member"]), Caller(live_world.users["foreigner"])
    source, foreign = live_world.source(), live_world.source("foreign", organization=live_world.abroad)
    old = ingest_text(foreign, "old", "animals of old").document_id
    search(member)
    in_sync()
    replicas[0].pause()
    replicas[1].pause()
    new = ingest_text(source, "new", "new animals").document_id
    assert search(member) == ({new}, False)
    assert search(foreigner) == ({old}, True)
    replicas[1].resume()
    in_sync(replicas[1])
    assert search(member) == ({new}, True)


def test_replicas_that_are_too_far_behind_are_left_out(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None], settings: Any, eventually: Callable[..., Any]
) -> None:
    member = Caller(live_world.users["member"])
    live_world.source()
    search(member)
    in_sync()
    for replica in replicas:
        replica.pause()
    assert search(member) == (set(), True)
    DataSource.objects.update(description="anything that decides nothing")
    assert search(member) == (set(), True)
    settings.RAG_REPLICA_MAX_LAG_SECONDS = 0.0
    assert search(member) == (set(), False)
    settings.RAG_REPLICA_MAX_LAG_SECONDS = 0.2
    eventually(lambda: search(member) == (set(), False))
    replicas[0].resume()
    eventually(lambda: search(member) == (set(), True))


def test_a_replica_that_fails_is_left_out_until_it_answers(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None], eventually: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(routing, "_RETRY_SECONDS", 0.05)
    member = Caller(live_world.users["member"])
    document = ingest_text(live_world.source(), "zebra", "animals").document_id
    search(member)
    in_sync()
    replicas[0].stop()
    try:
        assert [search(member) for _ in range(4)] == [({document}, True)] * 4
        replicas[1].stop()
        try:
            assert [search(member) for _ in range(2)] == [({document}, False)] * 2
        finally:
            replicas[1].start()
        # It is found by a thread of the web process.
        with web_process():
            eventually(lambda: not any(replica._is_down for replica in list(routing._replicas.values())[1:]))
        assert search(member) == ({document}, True)
    finally:
        replicas[0].start()


def test_a_search_that_a_replica_interrupts_is_answered_by_the_primary(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    member = Caller(live_world.users["member"])
    document = ingest_text(live_world.source(), "zebra", "animals").document_id
    search(member)
    in_sync()
    original, interrupted = retrieve.find_candidates, []

    def interrupt(*arguments: Any) -> Any:
        if not interrupted:
            for replica in replicas:
                interrupted.append(replica.execute("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'ragsite_reader'"))
        return original(*arguments)

    monkeypatch.setattr(retrieve, "find_candidates", interrupt)
    assert search(member) == ({document}, False)
    assert sum(interrupted) == 1


def test_positions_that_redis_has_lost(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None], settings: Any
) -> None:
    member = Caller(live_world.users["member"])
    source = live_world.source()
    search(member)
    in_sync()
    for replica in replicas:
        replica.pause()
    new = ingest_text(source, "new", "new animals").document_id
    positions._client(settings.REDIS_URL).delete(positions._key())
    assert search(member) == ({new}, False)
    assert search(member) == ({new}, False)
    replicas[0].resume()
    in_sync(replicas[0])
    assert search(member) == ({new}, True)
    settings.REDIS_URL = "redis://127.0.0.1:1"
    assert search(member) == ({new}, False)


@pytest.mark.parametrize("is_version_checked", [True, False])
def test_no_search_uses_an_older_access_rule(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None], monkeypatch: pytest.MonkeyPatch,
    is_version_checked: bool,
) -> None:  # fmt: skip
    """Access changes at random, while replicas stand still or catch up. Each search finds what the primary permits.

    If replicas were used whatever version they have, a search might miss what was permitted lately, but even then it
    shows nothing that was revoked: the passages come from the primary.
    """
    chance = random.Random(f"replicas {is_version_checked}")
    changes = Changes(live_world, chance)
    if not is_version_checked:
        monkeypatch.setattr(routing, "_PRIMARY_STATE", routing._PRIMARY_STATE.replace("rag_access_version()", "0::bigint"))
        monkeypatch.setattr(routing, "_REPLICA_STATE", routing._REPLICA_STATE.replace("rag_access_version()", "0::bigint"))
    search(Caller(live_world.users["owner"]))
    in_sync()
    counts = Counter[str]()
    for step in range(STEPS):
        replica = chance.choice(replicas)
        if chance.random() < 0.5:
            replica.pause()
        else:
            replica.resume()
        change = changes.change()
        if chance.random() < 0.5:
            in_sync(*(replica for replica in replicas if not replica.is_paused()))
        callers = chance.sample(changes.callers(), 4)
        expected = [changes.expected(caller) for caller in callers]
        with web_process():
            for caller, documents in zip(callers, expected, strict=True):
                found, used = search_again(caller, mode=Mode.LEXICAL)
                assert found <= documents, (step, change)
                assert found == documents or not is_version_checked, (step, change)
                counts["replica" if used else "primary"] += 1
                counts["missed"] += found != documents
    assert counts["replica"] > STEPS // 4
    assert bool(counts["missed"]) != is_version_checked
    assert not is_version_checked or counts["primary"] > STEPS // 4
    proof.count("searches on replicas while access changed", counts["replica"])
