"""What the checks say of addresses of read replicas."""

from typing import Any

import pytest
from environ import Env

from ragsite.postgres import identity, role_connections
from ragsite.postgres.replicas.checks import check_replica_addresses
from tests.access.database.injection import web_process


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://db2:5432/ragsite", []),
        ("postgresql://db1:5433/ragsite", []),
        ("postgresql://db2/ragsite?sslmode=require", []),
        ("postgresql:///ragsite?host=/run/postgresql", []),
        ("db2:5432/ragsite", ["ragsite.E005"]),
        ("mysql://db2/ragsite", ["ragsite.E005"]),
        ("postgresql://db2:5432", ["ragsite.E005"]),
        ("postgresql:///ragsite", ["ragsite.E005"]),
        ("postgresql://db2/ragsite?user=postgres", ["ragsite.W003"]),
        ("postgresql://reader:secret@db2/ragsite", ["ragsite.W003"]),
        ("postgresql://db2,db3/ragsite", ["ragsite.W004"]),
        ("postgresql://db1/ragsite", ["ragsite.W005"]),
    ],
)
def test_an_address_of_a_replica(settings: Any, url: str, expected: list[str]) -> None:
    settings.RAG_DATABASE_POOLER = Env.db_url_config("postgresql://db1:5432/ragsite")
    settings.RAG_DATABASE_REPLICAS = [Env.db_url_config(address) for address in ("postgresql://db9/ragsite", url)]
    messages = check_replica_addresses()
    assert [message.id for message in messages] == expected
    for message in messages:
        assert message.msg.startswith("Address 2 ")
        assert message.hint
        assert "secret" not in f"{message.msg} {message.hint}"


def test_the_primary_without_a_pooler(settings: Any) -> None:
    primary = {name: settings.DATABASES["default"].get(name) for name in ("HOST", "PORT", "NAME", "OPTIONS")}
    other = primary | {"NAME": "other"}
    settings.RAG_DATABASE_REPLICAS = [
        address | {"ENGINE": "django.db.backends.postgresql"} for address in (other, primary)
    ]
    (message,) = check_replica_addresses()
    assert (message.id, message.msg[:10]) == ("ragsite.W005", "Address 2 ")


def test_an_address_does_not_choose_the_role(settings: Any) -> None:
    """A superuser would read around row-level security."""
    url = "postgresql://postgres:secret@db2/ragsite?user=postgres&password=secret"
    settings.RAG_DATABASE_REPLICAS = [Env.db_url_config(url)]
    with web_process():
        parameters = role_connections.replica_connection(settings.RAG_DATABASE_REPLICAS[0]).get_connection_params()
    assert (parameters["host"], parameters["user"]) == ("db2", identity.READER_ROLE)
    assert parameters["password"] != "secret"
