"""Statements that a web process's session keeps parsed and planned: requests share them, and nothing else."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import NotSupportedError, ProgrammingError, connection, transaction

from ragsite.postgres import identity
from ragsite.postgres.base import read_rows
from tests.access.database.injection import execute, next_request, web_process
from tests.support.factories import World

pytestmark = pytest.mark.django_db(transaction=True)

_CURRENT_USER = "SELECT user_id FROM ragsite_identity() WHERE %s"
_KEPT = "SELECT statement FROM pg_prepared_statements WHERE statement LIKE '%ragsite_identity() WHERE%'"


def _process_id() -> Any:
    return connection.connection.info.backend_pid


def test_a_kept_statement_reads_what_the_caller_of_each_request_may(live_world: World) -> None:
    callers = [identity.of_user(live_world.users[name].pk) for name in ("member", "owner", "member")]
    with web_process():
        for caller in callers:
            with identity.run_as(caller):
                assert read_rows(_CURRENT_USER, ["true"]) == [(caller.user,)]
                with transaction.atomic():
                    assert read_rows(_CURRENT_USER, ["true"]) == [(caller.user,)]
                    assert read_rows(_CURRENT_USER, ["false"]) == []
            process_id = _process_id()
            next_request()
            assert _process_id() == process_id
            assert len(execute(_KEPT) or []) == 1


@pytest.mark.parametrize(
    "statements",
    [("PREPARE evil AS SELECT 1",), ("DEALLOCATE ALL",), ("DEALLOCATE ALL", *["PREPARE evil_{} AS SELECT 1"] * 2)],
)
def test_a_session_with_other_statements_is_given_up(live_world: World, statements: tuple[str, ...]) -> None:
    """Injected SQL could put its own in the place of the next request's."""
    caller = identity.of_user(live_world.users["member"].pk)
    with web_process():
        with identity.run_as(caller):
            read_rows(_CURRENT_USER, ["true"])
        process_id = _process_id()
        for number, statement in enumerate(statements):
            assert execute(statement.format(number)) == []
        next_request()
        assert _process_id() != process_id
        with identity.run_as(caller):
            assert read_rows(_CURRENT_USER, ["true"]) == [(caller.user,)]


def test_a_statement_is_analysed_again_if_another_request_has_changed_what_it_named(live_world: World) -> None:
    sql = "SELECT count(*) FROM accounts_user WHERE %s"
    caller = identity.of_user(live_world.users["member"].pk)
    with web_process():
        with identity.run_as(caller):
            count = read_rows("SELECT count(*) FROM public.accounts_user WHERE %s", ["true"])
        assert count != [(0,)]
        execute("CREATE TEMPORARY TABLE accounts_user (id integer)")
        execute("SELECT set_config('search_path', 'pg_temp, public', false)")
        with identity.run_as(caller):
            assert read_rows(sql, ["true"]) == [(0,)]
        process_id = _process_id()
        next_request()
        with identity.run_as(caller):
            assert read_rows(sql, ["true"]) == count
        assert _process_id() == process_id


@pytest.fixture
def owner(live_world: World) -> Iterator[Any]:
    """A session of the owner of the tables."""
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as session:
        yield session
        session.execute("DROP TABLE IF EXISTS rag_changing")


def test_a_changed_result_costs_one_request_at_most(owner: Any) -> None:
    """A migration may change a type while requests run."""
    owner.execute("CREATE TABLE rag_changing AS SELECT 1 AS value")
    owner.execute("GRANT SELECT ON rag_changing TO PUBLIC")
    sql = "SELECT value FROM rag_changing WHERE %s"
    with web_process():
        assert read_rows(sql, ["true"]) == [(1,)]
        owner.execute("ALTER TABLE rag_changing ALTER COLUMN value TYPE text")
        with pytest.raises(NotSupportedError):
            read_rows(sql, ["true"])
        next_request()
        assert read_rows(sql, ["true"]) == [("1",)]


def test_a_failed_round_trip_leaves_nothing_that_disturbs_the_next(live_world: World) -> None:
    with web_process():
        for _ in range(2):
            with pytest.raises(ProgrammingError):
                read_rows("SELECT nothing WHERE %s", ["true"])
            assert read_rows("SELECT 1 WHERE %s", ["true"]) == [(1,)]
        process_id = _process_id()
        next_request()
        assert _process_id() == process_id


def test_a_session_keeps_a_limited_number_of_statements(live_world: World) -> None:
    with web_process():
        for number in range(80):
            assert read_rows(f"SELECT {number} WHERE %s", ["true"]) == [(number,)]
        assert execute("SELECT count(*) FROM pg_prepared_statements") == [(64,)]
