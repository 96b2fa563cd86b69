"""The check with which a web process refuses to start: its roles must not be able to leave row-level security."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection

from ragsite.postgres import base, identity
from ragsite.postgres.roles import checks, preparation
from tests.access.database.injection import web_process
from tests.support.factories import World


@contextmanager
def changed(statement: str, undo: str) -> Iterator[None]:
    """The database after a statement of its owner. The roles are not changed: all databases of a server share them."""
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute(statement)
    try:
        yield
    finally:
        with identity.run_as(identity.OWNER), connection.cursor() as cursor:
            cursor.execute(undo)


def test_the_roles_that_migrations_prepare_are_accepted(live_world: World) -> None:
    with web_process():
        checks.require_safe_roles()


@pytest.mark.parametrize("role", preparation.LOGINS)
def test_a_role_that_owns_a_table_is_refused(live_world: World, role: str) -> None:
    create = f"CREATE TABLE left_behind (); ALTER TABLE left_behind OWNER TO {role}"
    with (
        changed(create, "DROP TABLE left_behind"),
        web_process(),
        pytest.raises(checks.RoleError, match=f"{role} owns left_behind"),
    ):
        checks.require_safe_roles()


def test_the_passwords_of_another_secret_key_are_refused(live_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server answers, so waiting for it would not help: somebody has to run `migrate`."""
    with web_process():
        monkeypatch.setattr(base, "role_password", lambda role: "of another key")
        with pytest.raises(checks.RoleError, match=r"refuses the role ragsite_reader .* Run `manage.py migrate`"):
            checks.require_safe_roles()


def test_the_identity_key_of_another_secret_key_is_refused(live_world: World) -> None:
    swap = "UPDATE ragsite_private.identity_key SET inner_pad = outer_pad, outer_pad = inner_pad"
    with changed(swap, swap), web_process(), pytest.raises(checks.RoleError, match="SECRET_KEY is not the one"):
        checks.require_safe_roles()
