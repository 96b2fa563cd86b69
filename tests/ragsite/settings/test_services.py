"""`check --deploy` says that a service cannot be used: without this a wrong address looked right until the start."""

from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import OperationalError, connection


def reported() -> list[str]:
    messages = run_checks(tags=["services"], include_deployment_checks=True)
    assert {message.id for message in messages} <= {"ragsite.W007"}
    return [message.msg for message in messages]


@pytest.mark.django_db
def test_services_that_answer_are_not_reported() -> None:
    assert reported() == []


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["redis://127.0.0.1:1/0", "127.0.0.1:6379"])
def test_a_wrong_address_of_redis_is_reported(settings: Any, address: str) -> None:
    settings.REDIS_URL = address
    (message,) = reported()
    assert message.startswith("REDIS_URL cannot be used: ")


@pytest.mark.django_db
def test_a_database_that_refuses_the_login_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OperationalError('connection failed:\n password authentication failed for user "ragsite"')

    monkeypatch.setattr(connection, "cursor", refuse)
    (message,) = reported()
    assert message == (
        'DATABASE_URL cannot be used: connection failed: password authentication failed for user "ragsite"'
    )
