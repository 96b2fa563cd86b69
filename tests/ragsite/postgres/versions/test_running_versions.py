"""A migration that would break running processes of another version is refused."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations import Migration, RunSQL
from django.db.models.signals import pre_migrate

from ragsite.postgres.versions import running_versions
from ragsite.postgres.versions.running_versions import refuse_while_other_versions_run
from tests.access.database.injection import web_process


def migration(sql: str) -> Any:
    return type("Step", (Migration,), {"operations": [RunSQL(sql)]})("9999_step", "rag")


_REMOVING, _ADDING = migration("DROP FUNCTION a(); CREATE FUNCTION b()"), migration("CREATE FUNCTION b()")


OtherSession = Callable[[str], AbstractContextManager[None]]


@pytest.fixture
def other_session(eventually: Callable[..., object]) -> OtherSession:
    """A session of another process. After the block PostgreSQL has ended it: otherwise the next test may see it."""

    @contextmanager
    def session(name: str) -> Iterator[None]:
        database = connection.settings_dict["NAME"]
        with psycopg.connect(os.environ["DATABASE_URL"], dbname=database, application_name=name) as other:
            pid = other.info.backend_pid
            yield
        eventually(lambda: not is_connected(pid))

    return session


def is_connected(pid: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot(), EXISTS (SELECT FROM pg_stat_activity WHERE pid = %s)", [pid])
        return bool(cursor.fetchone()[1])


@pytest.fixture(autouse=True)
def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_versions, "_MAX_WAIT_SECONDS", 0.0)


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["", "ragsite/another"])
def test_a_migration_that_removes_something_is_refused_beside_another_version(
    name: str, other_session: OtherSession
) -> None:
    with other_session(name):
        with pytest.raises(CommandError, match=r"\(1 sessions\).*9999_step.*Stop the web servers.*PgBouncer"):
            pre_migrate.send(apps.get_app_config("accounts"), plan=[(_ADDING, False), (_REMOVING, False)])
        pre_migrate.send(apps.get_app_config("accounts"), plan=[(_ADDING, False)])


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["psql", running_versions.version_name()])
def test_tools_and_processes_of_the_same_version_are_no_reason(name: str, other_session: OtherSession) -> None:
    with other_session(name):
        refuse_while_other_versions_run([(_REMOVING, False)])


@pytest.mark.django_db
def test_the_check_can_be_left_out(settings: Any, other_session: OtherSession) -> None:
    settings.RAG_MIGRATE_WHILE_OTHERS_RUN = True
    with other_session(""):
        refuse_while_other_versions_run([(_REMOVING, False)])


@pytest.mark.django_db
def test_every_connection_states_its_version() -> None:
    with web_process(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_catalog.current_setting('application_name')")
        assert cursor.fetchone()[0] == running_versions.version_name()
