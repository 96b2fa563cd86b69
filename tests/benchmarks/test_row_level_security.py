"""The server that benchmarks compare row-level security with."""

import pytest
from django.db import connection

from benchmarks.support.engine_without_rls.base import DatabaseWrapper
from tests.access.database.injection import web_process

_STATE = "SELECT current_user, current_setting('rag.identity', true), rolsuper FROM pg_roles WHERE rolname = user"


@pytest.mark.django_db(transaction=True)
def test_its_statements_are_of_the_superuser_and_have_no_identity():
    wrapper = DatabaseWrapper(connection.settings_dict | {"CONN_HEALTH_CHECKS": False})
    try:
        with web_process():
            together = wrapper.read_rows(_STATE, [])
            with wrapper.cursor() as cursor:
                cursor.execute(_STATE)
                alone = cursor.fetchall()
    finally:
        wrapper.close()
    assert together == alone == [(connection.settings_dict["USER"], together[0][1], True)]
    assert not together[0][1]
