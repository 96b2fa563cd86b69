"""The tests' own sessions (tests.support.data.sessions): what a test leaves in one, the next test does not see."""

from typing import Any

import pytest
from django.db import connection

_STATE = """
SELECT pg_backend_pid(), current_setting('application_name'), current_setting('role'), current_setting('TimeZone'),
    (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()), to_regclass('pg_temp.rest')
"""
_LEFT = (
    "SET application_name = 'rest'",
    "SET TimeZone = 'Asia/Tokyo'",
    "SELECT pg_advisory_lock(7)",
    "CREATE TEMPORARY TABLE rest ()",
    "SET ROLE ragsite_reader",
)


def opened() -> Any:
    connection.ensure_connection()
    return connection.connection


@pytest.mark.django_db(transaction=True)
def test_a_session_is_used_again_without_what_was_left_in_it() -> None:
    before = opened().execute(_STATE).fetchone()
    for statement in _LEFT:
        opened().execute(statement)
    assert opened().execute(_STATE).fetchone() != before
    connection.close()
    assert opened().execute(_STATE).fetchone() == before


@pytest.mark.django_db(transaction=True)
def test_a_session_that_the_server_has_ended_is_not_used_again() -> None:
    other = connection.copy()
    other.ensure_connection()
    process_id = opened().info.backend_pid
    connection.close()
    other.connection.execute("SELECT pg_terminate_backend(%s, 60000)", [process_id])
    other.close()
    connection.ensure_connection()
    other.ensure_connection()
    assert process_id not in (opened().info.backend_pid, other.connection.info.backend_pid)
    other.close()
