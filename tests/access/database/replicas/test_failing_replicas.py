"""Searches on read replicas that fail, are silent, cancel a search or have not replayed a migration."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from psycopg.errors import UndefinedFunction

from orgs.access.caller import Caller
from rag.errors import IndexUnavailable
from rag.pipeline.retrieval import retrieve
from rag.pipeline.retrieval.find_candidates import find_candidates
from ragsite.postgres import base
from ragsite.postgres.base import read_rows
from ragsite.postgres.replicas import routing
from tests.access.database.injection import web_process
from tests.access.database.replicas.replica_searches import SearchOutcome, search, search_again
from tests.support.factories import World, ingest_text
from tests.support.servers.replicas import Replica


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
        assert [search(member) for _ in range(4)] == [SearchOutcome({document}, used_replica=True)] * 4
        replicas[1].stop()
        try:
            assert [search(member) for _ in range(2)] == [SearchOutcome({document}, used_replica=False)] * 2
        finally:
            replicas[1].start()
        # A thread of the web process notices that the replica answers again.
        with web_process():
            eventually(lambda: not any(replica._is_down for replica in list(routing._replicas.values())[1:]))
        assert search(member) == SearchOutcome({document}, used_replica=True)
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
    assert search(member) == SearchOutcome({document}, used_replica=False)
    assert sum(interrupted) == 1


def test_a_replica_that_was_silent_receives_what_it_missed(
    replicas: list[Replica], in_sync: Callable[..., None]
) -> None:
    """The primary has finished the files that the replica did not receive, and would remove them."""
    replicas[0].freeze()
    try:
        replicas[0].switch_wal()
    finally:
        replicas[0].thaw()
    in_sync()


@pytest.mark.parametrize("is_searching", [False, True], ids=["before", "during"])
def test_a_replica_that_is_silent_holds_up_no_search(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None], eventually: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch, settings: Any, is_searching: bool,
) -> None:  # fmt: skip
    """The replica keeps and accepts connections, but answers nothing, before a search or in the middle of it."""
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

    # If the search waited for the replica, the replica would answer it at last.
    thaw = threading.Timer(60, replicas[0].thaw)
    thaw.start()
    with web_process():
        try:
            assert search_again(member) == SearchOutcome({document}, used_replica=True)
            if is_searching:
                monkeypatch.setattr(retrieve, "find_candidates", freeze_and_find)
            else:
                replicas[0].freeze()
            assert search_again(member) == SearchOutcome({document}, used_replica=False)
            (known,) = routing._replicas.values()
            assert known._is_down
        finally:
            thaw.cancel()
            replicas[0].thaw()
        eventually(lambda: not known._is_down)
        assert search_again(member) == SearchOutcome({document}, used_replica=True)
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
        # Something else that the replica replays may conflict first, which ends the statement.
        eventually(lambda: errors or any(replica.execute(sessions) for replica in replicas))
        replicas[0].replay_lock("rag_chunk")

    def search_in_conflict(*arguments: Any) -> Any:
        if errors:
            return find_candidates(*arguments)
        thread = threading.Thread(target=cause_conflict)
        read_rows("SELECT count(*) FROM rag_chunk", [])
        thread.start()
        if not is_waiting:
            eventually(lambda: not any(replica.execute(sessions) for replica in replicas))
        try:
            read_rows("SELECT pg_sleep(60)", [])
        except OperationalError as error:
            errors.append(str(getattr(error.__cause__, "sqlstate", "")))
            raise IndexUnavailable("The search index does not answer.") from error  # as the store does
        finally:
            thread.join()

    monkeypatch.setattr(retrieve, "find_candidates", search_in_conflict)
    for replica in replicas:
        replica.set("max_standby_streaming_delay", "0")
    try:
        assert search(member) == SearchOutcome({document}, used_replica=False)
    finally:
        for replica in replicas:
            replica.set("max_standby_streaming_delay", None)
    assert errors == ["40001"]
    in_sync()
    assert search(member) == SearchOutcome({document}, used_replica=True)  # they are not left out


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


def test_a_replica_that_answers_with_an_error_is_not_asked_by_each_search(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None], monkeypatch: pytest.MonkeyPatch,
    settings: Any,
) -> None:  # fmt: skip
    """For example one that has not replayed the migration that creates a function."""
    settings.RAG_DATABASE_REPLICAS = [replicas[0].address]
    member = Caller(live_world.users["member"])
    document = ingest_text(live_world.source(), "zebra", "animals").document_id
    search(member)
    in_sync()
    errors: list[BaseException | None] = []
    note_failure = routing.Replica.note_failure

    def watch(replica: routing.Replica, error: Exception) -> None:
        errors.append(error.__cause__)
        note_failure(replica, error)

    monkeypatch.setattr(routing.Replica, "note_failure", watch)
    monkeypatch.setattr(routing, "_RETRY_SECONDS", 3_600.0)
    with web_process():
        with monkeypatch.context() as patched:
            patched.setattr(routing, "_REPLICA_STATE", "SELECT rag_function_of_the_next_version(%s::uuid[])")
            assert [search_again(member) for _ in range(3)] == [SearchOutcome({document}, used_replica=False)] * 3
        assert [type(error) for error in errors] == [UndefinedFunction]
        (known,) = routing._replicas.values()
        monkeypatch.setattr(known, "_asked_again_at", 0.0)
        assert search_again(member) == SearchOutcome({document}, used_replica=True)
