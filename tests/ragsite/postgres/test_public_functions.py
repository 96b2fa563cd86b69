"""The deployment check of functions that every role may call."""

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection

from ragsite.postgres import identity
from ragsite.postgres.roles import checks, preparation
from ragsite.postgres.roles.checks import check_public_functions
from tests.access.database.injection import PUBLIC

pytestmark = pytest.mark.django_db


SQL = checks.PUBLIC_FUNCTIONS.read_text()


def execute(sql: str) -> None:
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:  # in tests a superuser
        cursor.execute(sql)


@pytest.mark.parametrize("grantee", ["PUBLIC", *preparation.LOGINS])
def test_a_function_that_a_web_role_may_call_is_reported(grantee: str) -> None:
    execute(SQL)
    assert check_public_functions() == []
    execute(f"GRANT EXECUTE ON FUNCTION pg_cancel_backend(integer), lo_create(oid) TO {grantee}")
    (message,) = check_public_functions()
    assert (message.id, "call lo_create(oid), pg_cancel_backend(integer):" in message.msg) == ("ragsite.W006", True)
    assert "public_functions.sql" in str(message.hint)


def test_the_check_names_every_function_and_runs_before_a_deployment() -> None:
    execute(SQL)
    assert check_public_functions() == []
    execute(SQL.replace("REVOKE", "GRANT").replace("FROM PUBLIC", "TO PUBLIC"))
    (message,) = check_public_functions()
    names = {statement.removeprefix("SELECT ").partition("(")[0] for statement in PUBLIC}
    assert all(f"{name}(" in message.msg for name in names)
    with pytest.raises(SystemCheckError, match=r"ragsite\.W006"):
        call_command("check", deploy=True, fail_level="WARNING")
