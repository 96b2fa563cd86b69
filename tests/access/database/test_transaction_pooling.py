"""Web processes behind PgBouncer in transaction mode: many callers share two sessions, and none sees another's rows."""

import configparser
import select
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.core.management.base import CommandError
from django.db import OperationalError, close_old_connections, connection, transaction
from django.db.migrations import Migration, RunSQL
from django.test import Client
from psycopg.errors import AdminShutdown

from orgs.access.permissions import Visibility
from rag.models import Chunk
from ragsite.postgres import identity, role_connections
from ragsite.postgres.base import read_rows
from ragsite.postgres.derived_keys import role_password
from ragsite.postgres.roles import checks
from ragsite.postgres.versions import running_versions
from ragsite.run import gunicorn_config, web
from tests.access.database.injection import RESIDUE, execute, web_process
from tests.support.factories import World, ingest_text
from tests.support.servers.pgbouncer import PROGRAM

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="PgBouncer is not installed")


def test_requests_of_many_callers_share_two_sessions(live_world: World, start: Callable[..., None]) -> None:
    """Eight threads search as one user after the other. Each of them reads only what that user may."""
    world = live_world
    texts = {"owner": "The owner keeps zebras.", "member": "The member keeps okapis."}
    sources = {name: world.source(name, visibility=Visibility.PERSONAL, owner=world.users[name]) for name in texts}
    for name, source in sources.items():
        ingest_text(source, "diary.txt", texts[name])
    keys = {name: world.key(name).secret for name in texts}
    start()

    def search(name: str) -> tuple[str, list[str]]:
        try:
            reply = Client().post(
                "/api/rag/retrieve",
                {"query": "Who keeps animals?"},
                content_type="application/json",
                headers={"X-API-Key": keys[name]},
            )
            assert reply.status_code == 200, reply.json()
            return name, [passage["text"] for passage in reply.json()["documents"]]
        finally:
            role_connections.close_all()

    with web_process():
        with ThreadPoolExecutor(8) as executor:
            results = list(executor.map(search, [*keys] * 12))
        with identity.run_as(identity.of_user(world.users["owner"].pk)), transaction.atomic():
            parts = [chunk.text for chunk in Chunk.objects.iterator(chunk_size=1)]
            # PgBouncer states a process id of its own, which the signed identity must not contain.
            assert execute("SELECT pg_backend_pid()") != [(connection.connection.info.backend_pid,)]
        assert list(Chunk.objects.all()) == []
    assert len(results) == 24
    assert all(passages == [texts[name]] for name, passages in results)
    assert parts == [texts["owner"]]


@pytest.fixture
def search(live_world: World) -> Callable[[str], Any]:
    """Sends a request to a path, as the web server does: connections that were lost are replaced before it."""
    ingest_text(live_world.source(visibility=Visibility.PUBLIC), "zebra.txt", "A zebra.")
    secret = live_world.key("member").secret

    def send(path: str) -> Any:
        close_old_connections()  # Django's test client leaves this out
        return Client().post(path, {"query": "zebra"}, content_type="application/json", headers={"X-API-Key": secret})

    return send


def test_a_request_without_a_session_in_time_is_answered_and_can_be_sent_again(
    search: Callable[[str], Any], start: Callable[..., int]
) -> None:
    login: dict[str, Any] = {"host": "127.0.0.1", "port": start(timeouts={"query_wait_timeout": 0.2})}
    role = identity.READER_ROLE
    login |= {"user": role, "password": role_password(role), "dbname": "pooled"}
    with web_process():
        with psycopg.connect(**login) as first, psycopg.connect(**login) as second:
            for client in (first, second):
                client.execute("SELECT 1")  # its transaction keeps a session: both are in use
            for path in ("/api/rag/query", "/api/rag/retrieve"):
                reply = search(path)
                assert (reply.status_code, reply["Retry-After"]) == (503, "2"), reply.content
        assert search("/api/rag/query").status_code == 200


def test_connections_that_the_pooler_closes_for_idleness_are_replaced(
    search: Callable[[str], Any], start: Callable[..., int]
) -> None:
    start(timeouts={"client_idle_timeout": 0.1, "server_idle_timeout": 0.1})
    with web_process():
        for _ in range(2):
            assert search("/api/rag/query").status_code == 200
            select.select([connection.connection.fileno()], [], [])  # until it is closed


@pytest.mark.parametrize("is_at_the_end", [True, False])
def test_a_session_that_ends_in_a_transaction_can_be_replaced(
    live_world: World, start: Callable[..., int], is_at_the_end: bool
) -> None:
    """PgBouncer passes the server's error on, and adds one of its own."""
    parameters = connection.get_connection_params()
    start()
    with web_process(), psycopg.connect(**parameters, autocommit=True) as administrator:

        @transaction.atomic
        def lose_session() -> None:
            ((process_id,),) = read_rows("SELECT pg_backend_pid()", [])
            administrator.execute("SELECT pg_terminate_backend(%s, 10_000)", [process_id])
            select.select([connection.connection.fileno()], [], [])
            if not is_at_the_end:
                with identity.run_as(identity.of_user(live_world.users["member"].pk)):
                    read_rows("SELECT 1", [])

        with pytest.raises(OperationalError) as raised:
            lose_session()
        assert is_at_the_end or isinstance(raised.value.__cause__, AdminShutdown)
        assert read_rows("SELECT 1", []) == [(1,)]


@pytest.fixture
def documented(settings: Any) -> configparser.SectionProxy:
    """The documented configuration of PgBouncer."""
    page = (settings.BASE_DIR / "docs" / "operations" / "scale.md").read_text()
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(page.split("```ini\n")[1].split("```")[0])
    return parser["pgbouncer"]


def test_the_documented_reset_is_the_tested_one(documented: configparser.SectionProxy) -> None:
    assert documented["server_reset_query"] == role_connections.RESET_SESSION


def test_the_documented_pooler_has_room_for_two_web_servers(documented: configparser.SectionProxy) -> None:
    """PgBouncer's default is fewer connections than the threads of one keep open."""
    roles = len({identity.READER_ROLE, identity.SIGN_IN.role, identity.STAFF.role})
    assert int(documented["max_client_conn"]) >= 2 * gunicorn_config.workers * web.THREADS * roles


def test_a_migration_waits_for_sessions_that_the_pooler_keeps(
    live_world: World,
    start: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    eventually: Callable[..., object],
) -> None:
    """Kept sessions name no version, like the sessions of processes that are too old to name theirs."""
    monkeypatch.setattr(running_versions, "_MAX_WAIT_SECONDS", 0.0)
    step = type("Step", (Migration,), {"operations": [RunSQL("DROP FUNCTION a()")]})("9999_step", "rag")
    running_versions.refuse_while_other_versions_run([(step, False)])
    start()
    with web_process():
        assert read_rows("SELECT current_setting('application_name')", []) == [(running_versions.version_name(),)]

    def error_message() -> str:
        try:
            running_versions.refuse_while_other_versions_run([(step, False)])
        except CommandError as error:
            return str(error)
        return ""

    # The pooler resets the session, and so its version, after the process has ended.
    assert "restart PgBouncer" in str(eventually(error_message))


def test_nothing_of_a_transaction_stays_for_the_next_caller(live_world: World, start: Callable[..., None]) -> None:
    start()
    with web_process():
        checks.require_safe_roles()
        for statement, query in RESIDUE.items():
            execute(statement)
            connection.close()
            assert execute(query) == [(False,)], statement
        with identity.run_as(identity.of_user(live_world.users["owner"].pk)):
            query = "SELECT current_setting('search_path'), current_setting('statement_timeout'), session_user::text"
            assert execute(query) == [("public,pg_temp", "30s", "ragsite_reader")]


def test_a_pooler_that_does_not_reset_sessions_is_refused(live_world: World, start: Callable[..., None]) -> None:
    start(reset_always=False)
    with web_process(), pytest.raises(checks.RoleError, match="server_reset_query_always"):
        checks.require_safe_roles()
