"""Sessions of a role: what one request cannot see of others, cannot do to them, and cannot leave in its transaction."""

import contextlib
from typing import Any

import psycopg
import pytest
from django.db import DataError, OperationalError, connection, transaction
from psycopg.errors import AdminShutdown

from ragsite.postgres import base, identity
from ragsite.postgres.base import read_rows
from ragsite.postgres.roles import checks, preparation
from ragsite.postgres.statements.round_trips import send_together
from tests.access.database.injection import PUBLIC, execute, next_request, web_process
from tests.support.factories import World

pytestmark = pytest.mark.django_db(transaction=True)

_OTHER_SESSIONS = "SELECT query FROM pg_stat_activity WHERE usename = session_user AND pid <> pg_backend_pid()"
_CURRENT_USER = "SELECT user_id FROM ragsite_identity()"


def test_no_request_sees_the_identity_of_another(live_world: World) -> None:
    """With it, injected SQL could act as its caller, in a later request that gets the same connection."""
    victim = live_world.users["owner"].pk
    with web_process(), identity.run_as(identity.of_user(victim)):
        parameters = connection.get_connection_params()
        parameters.pop("cursor_factory")
        next_request()
        with psycopg.connect(**parameters, autocommit=True) as attacker:
            shown: list[str] = []

            def look(execute_next: Any, *arguments: Any) -> Any:
                """After the identity is set, and before the statement that it is set for."""
                shown.extend(query for (query,) in attacker.execute(_OTHER_SESSIONS))
                return execute_next(*arguments)

            with connection.execute_wrapper(look):
                assert execute(_CURRENT_USER) == [(victim,)]
    assert any("set_config" in query for query in shown), shown
    assert not any(str(victim) in query for query in shown), shown


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many statements were sent in each round trip."""
    counts: list[int] = []

    def record(session: Any, statements: Any, *arguments: Any) -> Any:
        counts.append(len(statements))
        return send_together(session, statements, *arguments)

    monkeypatch.setattr(base, "send_together", record)
    return counts


def test_a_statement_with_its_transaction_in_one_round_trip_leaves_nothing(live_world: World, sent: list[int]) -> None:
    caller = identity.of_user(live_world.users["member"].pk)
    with web_process():
        of_nobody = execute(_CURRENT_USER)
        sent.clear()
        with identity.run_as(caller):
            assert read_rows(f"{_CURRENT_USER} WHERE user_id = %s", [str(caller.user)]) == [(caller.user,)]
            assert sent == [4]
            with pytest.raises(DataError):
                read_rows("SELECT 1 / length(%s)", [""])
            assert read_rows("SELECT upper(%s)", ["again"]) == [("AGAIN",)]
        assert read_rows(_CURRENT_USER, []) == of_nobody != [(caller.user,)]


def test_the_first_statement_of_a_transaction_is_sent_with_its_beginning(live_world: World, sent: list[int]) -> None:
    member, owner = (identity.of_user(live_world.users[name].pk) for name in ("member", "owner"))
    with web_process():
        with transaction.atomic(), identity.run_as(member):
            assert [read_rows(_CURRENT_USER, []) for _ in range(2)] == [[(member.user,)]] * 2
            with identity.run_as(owner):
                assert read_rows(_CURRENT_USER, []) == execute(_CURRENT_USER) == [(owner.user,)]
        assert sent == [3, 1, 2]  # BEGIN, the identity and the statement; the statement; another identity with it
        with identity.run_as(owner):
            assert execute(_CURRENT_USER) == read_rows(_CURRENT_USER, []) == [(owner.user,)]


@pytest.mark.parametrize("is_alone", [True, False])
def test_the_reason_why_the_server_ends_a_session_is_raised(live_world: World, is_alone: bool) -> None:
    """The reason decides, for example, whether a read replica is left out."""
    parameters = connection.get_connection_params()
    with web_process(), identity.run_as(identity.of_user(live_world.users["member"].pk)):
        assert execute(_CURRENT_USER)
        process_id = connection.connection.info.backend_pid
        with psycopg.connect(**parameters, autocommit=True) as administrator:
            administrator.execute("SELECT pg_terminate_backend(%s, 10_000)", [process_id])
        with pytest.raises(OperationalError) as raised, contextlib.nullcontext() if is_alone else transaction.atomic():
            read_rows(_CURRENT_USER, [])
        assert isinstance(raised.value.__cause__, AdminShutdown)


@pytest.mark.parametrize("is_by_django", [True, False])
def test_a_rollback_to_a_savepoint_brings_no_other_identity_back(live_world: World, is_by_django: bool) -> None:
    caller = identity.of_user(live_world.users["member"].pk)
    with web_process(is_restricted=True), transaction.atomic():
        with identity.run_as(identity.of_user(live_world.users["owner"].pk)):
            assert execute(_CURRENT_USER) == [(live_world.users["owner"].pk,)]
        savepoint = transaction.savepoint()
        with identity.run_as(caller):
            assert execute(_CURRENT_USER) == [(caller.user,)]
            if is_by_django:
                transaction.savepoint_rollback(savepoint)
            else:
                assert execute(f'ROLLBACK TO SAVEPOINT "{savepoint}"') == []
            assert execute(_CURRENT_USER) == [(caller.user,)]


@pytest.mark.parametrize("role", preparation.LOGINS)
def test_no_request_ends_others_or_stores_large_objects(live_world: World, role: str) -> None:
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:  # in tests a superuser
        cursor.execute(checks.PUBLIC_FUNCTIONS.read_text())
    with web_process(is_restricted=True), identity.run_as(identity.Identity(role)):
        for statement in PUBLIC:
            next_request()
            assert execute(statement) is None, statement
        assert execute("SELECT 1") == [(1,)]
