"""Arbitrary SQL inside a web request: no foreign row, no change of access, no secret (docs/security.md)."""

import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.core.signals import request_finished
from django.db import connection

from rag.models import DataSource, Grant
from rag.providers.stores.pgvector import token_signatures
from ragsite.postgres import identity
from ragsite.postgres.identity import Identity, sign
from ragsite.postgres.roles.preparation import LOGINS
from tests.access import check_counts
from tests.access.database import injection
from tests.access.database.injected_sql.injection_worlds import FilledWorld, in_random_worlds, read_foreign
from tests.access.rule import oracle
from tests.support.factories import World

pytestmark = pytest.mark.django_db(transaction=True)
Eventually = Callable[..., Any]


def callers(world: FilledWorld) -> Iterator[tuple[Identity, set[uuid.UUID]]]:
    """Each caller's identity, with the ids of the rows that belong to organisations or sources closed to them."""
    rows = world.rows
    for person, key, caller in rows.callers():
        if person and person.superuser:
            continue  # a superuser manages every organisation
        visible = set().union(*(rows.expected(person, key, action) for action in oracle.ACTIONS))
        foreign = world.foreign(caller.user.pk, visible)
        for oracle_key, row in rows.keys.items():  # a key shows what it is for, even if its user has left
            is_managed = person and not key and oracle.manages_members(rows.world, person, oracle_key.organization)
            if is_managed or row.user_id == caller.user.pk:
                foreign -= {row.organization_id, row.user_id, *(row.source_ids or ())}
        yield caller.database_identity, foreign


def access_state() -> list[object]:
    """Everything that decides access, as the worker reads it."""
    with identity.run_as(identity.WORKER):
        return [
            sorted(map(str, DataSource.objects.values_list("pk", "organization", "owner", "visibility", "deleted_at"))),
            sorted(map(str, Grant.objects.values_list("pk", "source", "user", "role", "team", "expires_at"))),
        ]


@in_random_worlds
def test_injected_sql_reads_nothing_foreign(world: oracle.World) -> None:
    """Every table is read without a filter by every kind of caller, before and after hostile statements."""
    cases = list(callers(FilledWorld.build(world)))
    with injection.web_process():
        for caller, foreign in cases:
            for statement in ("", "SET row_security = off", "SET search_path = pg_temp, public"):
                assert read_foreign(caller, foreign, statement) == set(), (caller, statement)
                check_counts.count("tables read by injected SQL")


def test_injected_sql_is_refused_secrets_roles_and_access_changes(live_world: World) -> None:
    source = live_world.source("a", visibility="private", owner=live_world.users["owner"])
    members = [Identity("ragsite_reader", user.pk) for user in live_world.users.values()]
    with injection.web_process():
        for caller in [identity.ANONYMOUS, *members]:
            for statement in injection.FORBIDDEN:
                injection.next_request()
                with identity.run_as(caller):
                    assert injection.execute(statement) is None, (caller, statement)
                check_counts.count("hostile statements refused")
    source.refresh_from_db()
    assert source.visibility == "private"


def test_injected_sql_makes_no_triggers_with_more_rights(live_world: World) -> None:
    """On a temporary table, such a trigger would write what its caller wants."""
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute(
            "SELECT proname FROM pg_proc WHERE prosecdef AND prorettype = 'trigger'::regtype "
            "AND pronamespace = 'public'::regnamespace"
        )
        names = [name for (name,) in cursor.fetchall()]
    assert "rag_record_index_change" in names
    make_trigger = "CREATE TRIGGER evil AFTER INSERT ON pg_temp.evil EXECUTE FUNCTION {}()"
    with injection.web_process(), identity.run_as(Identity("ragsite_reader", live_world.users["member"].pk)):
        assert injection.execute("CREATE TEMPORARY TABLE evil AS SELECT gen_random_uuid() AS document_id") == []
        assert injection.execute(make_trigger.format("pg_catalog.suppress_redundant_updates_trigger")) == []
        assert [name for name in names if injection.execute(make_trigger.format(f"public.{name}")) is not None] == []


@pytest.mark.parametrize("name", ["member", "supporter", "editor"])
@pytest.mark.parametrize("with_key", [False, True])
def test_injected_sql_changes_no_access(live_world: World, name: str, with_key: bool) -> None:
    """Members who may not manage a source cannot change any data that decides who can use a source."""
    live_world.source("a", visibility="private", owner=live_world.users["owner"])
    live_world.source("b", visibility="public", owner=live_world.users["owner"])
    key = live_world.key(name, "query").key
    caller = Identity("ragsite_reader", live_world.users[name].pk, key.pk if with_key else None)
    before = access_state(), type(key).objects.values("scopes", "source_ids", "networks", "revoked_at").get(pk=key.pk)
    with injection.web_process():
        for statement in injection.HOSTILE:
            injection.next_request()
            with identity.run_as(caller):
                injection.execute(statement)
    after = access_state(), type(key).objects.values("scopes", "source_ids", "networks", "revoked_at").get(pk=key.pk)
    assert after == before


def test_an_identity_can_be_neither_forged_nor_replayed(live_world: World) -> None:
    """Not changed, not without a signature, not from another connection, not after its end."""
    live_world.source("secret", visibility="personal", owner=live_world.users["owner"])
    victim, attacker = live_world.users["owner"].pk, live_world.users["member"].pk
    with injection.web_process():
        for caller in (identity.ANONYMOUS, Identity("ragsite_reader", attacker)):
            with identity.run_as(caller):
                forged = [*injection.forged_identities(caller, victim), sign(Identity("x", victim), 1)]
            for value in forged:
                injection.next_request()
                with identity.run_as(caller):
                    shown = injection.execute(
                        f"SELECT slug FROM rag_datasource, set_config('rag.identity', '{value}', true) AS forged"
                    )
                    assert not shown, value
                    assert not injection.execute(
                        f"WITH forged AS MATERIALIZED (SELECT set_config('rag.identity', '{value}', false)) "
                        "SELECT rag_visible_sources('view') FROM forged WHERE set_config IS NOT NULL"
                    ), value


@pytest.mark.parametrize(("statement", "shows"), injection.RESIDUE.items())
def test_the_next_request_finds_a_clean_session(live_world: World, statement: str, shows: str) -> None:
    with injection.web_process():
        injection.next_request()
        assert injection.execute(statement) is not None
        injection.next_request()
        assert injection.execute(shows) == [(False,)]


def request_of_staff(statements: Iterable[str]) -> list[object]:
    """Execute statements in a request, and return their results and the session's process."""
    with identity.run_as(Identity(identity.STAFF.role)):
        results: list[object] = [injection.execute(statement) for statement in (*statements, "SELECT pg_backend_pid()")]
    request_finished.send(sender=None)
    return results


def test_another_thread_gets_the_clean_session_of_an_earlier_request(live_world: World) -> None:
    # A session with an open transaction is closed.
    residue = {statement: shows for statement, shows in injection.RESIDUE.items() if not statement.startswith("BEGIN")}
    with injection.web_process(), ThreadPoolExecutor(1) as thread:
        *results, process = request_of_staff(residue)
        assert results.count(None) <= 1, "the admin's role creates no tables"
        shown = thread.submit(request_of_staff, residue.values()).result()
        assert shown == [*([(False,)] for _ in results), process]


def test_few_connections_of_the_admin_are_kept(live_world: World, eventually: Eventually) -> None:
    requests = Barrier(4)
    sessions = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'ragsite_staff' AND datname = current_database()"
    with injection.web_process(), ThreadPoolExecutor(4) as threads:

        def request_at_once(_: int) -> list[object]:
            with identity.run_as(identity.STAFF):
                injection.execute("SELECT 1")
                requests.wait()
            return request_of_staff([])

        assert len({str(process) for process in threads.map(request_at_once, range(4))}) == 4
        eventually(lambda: injection.execute(sessions) == [(2,)])


@pytest.mark.parametrize("role", LOGINS)
def test_a_web_process_sends_no_statement_that_changes_its_role_or_session(live_world: World, role: str) -> None:
    with injection.web_process(is_restricted=True), identity.run_as(Identity(role)):
        for statement in injection.NOT_SENT:
            assert injection.execute(statement) is None, statement
            assert injection.execute("(SELECT 1) UNION (SELECT 1)") == [(1,)]


def test_a_web_process_reads_and_writes_token_signatures(live_world: World) -> None:
    caller = live_world.users["owner"]
    with injection.web_process(is_restricted=True), identity.run_as(identity.of_user(caller.pk)):
        assert token_signatures.read([caller.pk]) == {}
        token_signatures.insert([])


# They contain nothing of an organisation or a person.
WITHOUT_ROW_LEVEL_SECURITY = {
    "accounts_user_groups", "accounts_user_user_permissions", "auth_group", "auth_group_permissions", "auth_permission",
    "django_content_type", "django_migrations", "rag_calibration", "rag_embeddingmodel", "rag_ingestionfairness",
    "rag_modeloutage",
}  # fmt: skip


def test_every_other_table_that_requests_may_read_has_row_level_security() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' "
            "AND NOT relrowsecurity AND has_any_column_privilege('ragsite_reader', oid, 'SELECT')"
        )
        assert {name for (name,) in cursor.fetchall()} == WITHOUT_ROW_LEVEL_SECURITY
