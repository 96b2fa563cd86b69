"""Searches on two read replicas, which lag, stop and come back."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.test import Client
from django.utils import timezone

from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from rag.errors import IndexUnavailable
from rag.models import DataSource, Document
from rag.pipeline.retrieval import retrieve
from rag.pipeline.retrieval.rank_candidates import find_candidates
from rag.types import Mode
from ragsite.observability import measurement_buffer
from ragsite.postgres import base, identity, roles
from ragsite.postgres.replicas import positions, routing
from tests.access.database.injection import web_process
from tests.access.database.replica_searches import search, search_again, used_replica
from tests.support.factories import World, ingest_text, process_queue
from tests.support.servers.pgbouncer import PROGRAM
from tests.support.servers.replicas import Replica


def test_every_kind_of_search_gives_the_same_answers(
    live_world: World, in_sync: Callable[..., None], settings: Any
) -> None:
    caller = Caller(live_world.users["member"])
    for number in range(3):
        source = live_world.source(f"s{number}")
        for name in ("zebra", "okapi", "Giraffen"):
            ingest_text(source, name, f"The {name} of herd {number} eats grass. Herds of {name} live in the savanna.")
    settings.RAG_DATABASE_REPLICAS, addresses = [], settings.RAG_DATABASE_REPLICAS
    kinds: list[dict[str, Any]] = [
        {"text": text, "mode": mode, "rerank": rerank}
        for text in ("Which animals eat grass?", "Wo leben die Giraffen?")
        for mode in Mode
        for rerank in (False, True)
    ]
    expected = [search(caller, **kind) for kind in kinds]
    settings.RAG_DATABASE_REPLICAS = addresses
    search(caller)  # notes that Redis has positions
    in_sync()
    assert [search(caller, **kind) for kind in kinds] == [(ids, True) for ids, _ in expected]
    assert all(ids for ids, _ in expected)


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
    in_sync(replicas[1:])
    assert search(member) == ({new}, True)


def test_replicas_that_are_too_far_behind_are_left_out(
    live_world: World,
    replicas: list[Replica],
    in_sync: Callable[..., None],
    settings: Any,
    eventually: Callable[..., Any],
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
    statement = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'ragsite_reader'"
    interrupted: list[int] = []

    def interrupt(*arguments: Any) -> Any:
        if not interrupted:
            for replica in replicas:
                interrupted.append(replica.execute(statement))
        return find_candidates(*arguments)

    monkeypatch.setattr(retrieve, "find_candidates", interrupt)
    assert search(member) == ({document}, False)
    assert sum(interrupted) == 1


@pytest.mark.parametrize("is_searching", [False, True], ids=["before", "during"])
def test_a_replica_that_is_silent_holds_up_no_search(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None], eventually: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch, settings: Any, is_searching: bool,
) -> None:  # fmt: skip
    """It keeps its connections and accepts new ones, but answers nothing, before a search or in the middle of it."""
    monkeypatch.setattr(routing, "_RETRY_SECONDS", 0.05)
    for module in (base, routing):
        monkeypatch.setattr(module, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(routing, "SEARCH_SECONDS", 0.5)
    settings.RAG_DATABASE_REPLICAS = [replicas[0].address]
    member = Caller(live_world.users["member"])
    document = ingest_text(live_world.source(), "zebra", "animals").document_id
    search(member)
    in_sync()

    def freeze_and_find(*arguments: Any) -> Any:
        monkeypatch.setattr(retrieve, "find_candidates", find_candidates)
        replicas[0].freeze()
        return find_candidates(*arguments)

    # If the search waited for it, it would be answered by it at last.
    thaw = threading.Timer(60, replicas[0].thaw)
    thaw.start()
    with web_process():
        try:
            assert search_again(member) == ({document}, True)
            if is_searching:
                monkeypatch.setattr(retrieve, "find_candidates", freeze_and_find)
            else:
                replicas[0].freeze()
            assert search_again(member) == ({document}, False)
            (known,) = routing._replicas.values()
            assert known._is_down
        finally:
            thaw.cancel()
            replicas[0].thaw()
        eventually(lambda: not known._is_down)
        assert search_again(member) == ({document}, True)
    # An abandoned attempt to connect would keep a session for a minute, which stops the replay.
    starting = "SELECT count(*) FROM pg_stat_activity WHERE state = 'starting'"
    eventually(lambda: replicas[0].execute(starting) == 0, seconds=30)


@pytest.mark.parametrize("is_waiting", [True, False], ids=["statement", "session"])
def test_a_search_that_conflicts_with_what_a_replica_replays(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None], eventually: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch, is_waiting: bool,
) -> None:  # fmt: skip
    """The replica cancels the statement, or ends the session between two of them. The primary answers the search."""
    member = Caller(live_world.users["member"])
    document = ingest_text(live_world.source(), "zebra", "animals").document_id
    search(member)
    in_sync()
    errors: list[str] = []
    state = "active" if is_waiting else "idle in transaction"
    sessions = f"SELECT count(*) FROM pg_stat_activity WHERE usename = 'ragsite_reader' AND state = '{state}'"

    def cause_conflict() -> None:
        eventually(lambda: any(replica.execute(sessions) for replica in replicas))
        replicas[0].replay_lock("rag_chunk")

    def search_in_conflict(*arguments: Any) -> Any:
        if errors:
            return find_candidates(*arguments)
        thread = threading.Thread(target=cause_conflict)
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM rag_chunk")
            thread.start()
            if not is_waiting:
                eventually(lambda: not any(replica.execute(sessions) for replica in replicas))
            try:
                cursor.execute("SELECT pg_sleep(60)")
            except OperationalError as error:
                errors.append(str(getattr(error.__cause__, "sqlstate", "")))
                raise IndexUnavailable("The search index does not answer.") from error  # as the store does
            finally:
                thread.join()

    monkeypatch.setattr(retrieve, "find_candidates", search_in_conflict)
    for replica in replicas:
        replica.set("max_standby_streaming_delay", "0")
    try:
        assert search(member) == ({document}, False)
    finally:
        for replica in replicas:
            replica.set("max_standby_streaming_delay", None)
    assert errors == ["40001"]
    in_sync()
    assert search(member) == ({document}, True)  # they are not left out


def test_a_search_that_the_primary_ends_is_not_repeated(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A statement timeout of the primary, after a replica has found the candidates, is the caller's answer."""
    member = Caller(live_world.users["member"])
    ingest_text(live_world.source(), "zebra", "animals")
    search(member)
    in_sync()
    readings: list[bool] = []

    def read_slowly(*_: Any) -> Any:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT pg_is_in_recovery()")
            readings.append(cursor.fetchone()[0])
            cursor.execute("SELECT set_config('statement_timeout', '1', true)")
            cursor.execute("SELECT pg_sleep(60)")

    monkeypatch.setattr(retrieve, "read_passages", read_slowly)
    with pytest.raises(OperationalError, match="statement timeout"):
        search(member)
    assert readings == [False]


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
    in_sync(replicas[:1])
    assert search(member) == ({new}, True)
    settings.REDIS_URL = "redis://127.0.0.1:1"
    assert search(member) == ({new}, False)


def test_positions_that_redis_did_not_take(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None], settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """When it answers again, everybody's searches wait for it, because it is not noted whom it concerns."""
    monkeypatch.setattr(positions, "_PAUSE_SECONDS", 0.0)
    editor, member = Caller(live_world.users["editor"]), Caller(live_world.users["member"])
    live_world.source()
    search(member)
    in_sync()
    for replica in replicas:
        replica.pause()
    settings.REDIS_URL, url = "redis://127.0.0.1:1", settings.REDIS_URL
    DataSource.objects.update(description="anything that decides nothing")
    with web_process(), identity.run_as(editor.database_identity):
        routing.start_request()
        routing.end_request()
    settings.REDIS_URL = url
    assert search(member) == (set(), False)
    for replica in replicas:
        replica.resume()
    in_sync()
    assert search(member) == (set(), True)


@pytest.mark.skipif(PROGRAM is None, reason="PgBouncer is not installed")
def test_replicas_behind_pgbouncer(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None], start: Callable[..., int], settings: Any
) -> None:
    member, owner = Caller(live_world.users["member"]), Caller(live_world.users["owner"])
    document = ingest_text(live_world.source(), "zebra", "animals").document_id
    personal = live_world.source("personal", visibility=Visibility.PERSONAL)
    diary = ingest_text(personal, "diary", "animals of the owner").document_id
    names = {f"replica{number}": replica.address["HOST"] for number, replica in enumerate(replicas)}
    port = start(replicas=names)
    settings.RAG_DATABASE_REPLICAS = [{"HOST": "127.0.0.1", "PORT": port, "NAME": name} for name in names]
    search(member)
    in_sync()
    with web_process():
        for _ in range(4):
            assert search_again(member) == ({document}, True)
            assert search_again(owner) == ({document, diary}, True)
        roles.require_safe_roles()
        settings.RAG_DATABASE_REPLICAS = [replicas[1].address]  # which nothing resets after a transaction
        with pytest.raises(roles.RoleError, match="server_reset_query_always"):
            roles.require_safe_roles()


def test_requests_note_what_they_have_shown(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None], settings: Any
) -> None:
    """A client sends a document and waits for it. Then it finds it, on the primary, for as long as a replica lags."""
    source = live_world.source()
    headers = {"X-API-Key": live_world.key("editor").secret}
    client = Client(headers=headers)

    def find_texts() -> list[str]:
        reply = client.post("/api/rag/retrieve", {"query": "animals"}, content_type="application/json")
        if reply.status_code == 404:
            assert reply.json()["error"] == "NO_RESULTS"
            return []
        return [passage["text"] for passage in reply.json()["documents"]]

    search(Caller(live_world.users["editor"]))
    in_sync()
    for replica in replicas:
        replica.pause()
    measurement_buffer.take()
    with web_process():
        assert (find_texts(), find_texts()) == ([], [])  # a search notes nothing
        assert used_replica()
        submission = {"dataSourceId": source.slug, "documents": [{"path": "zebra", "text": "Zebras are animals."}]}
        reply = client.post("/api/rag/ingest", submission, content_type="application/json")
        assert reply.status_code == 202, reply.json()
        job = reply.json()["jobId"]
    process_queue()
    positions._client(settings.REDIS_URL).zrem(positions._key(), f"organization:{live_world.home.pk}")
    with web_process():
        assert client.get(f"/api/rag/ingest/{job}").json()["status"] == "completed"
        assert find_texts() == ["Zebras are animals."]
        assert not used_replica()
