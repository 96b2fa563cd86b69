"""Checks of the addresses of read replicas. A wrong one causes no error: the primary executes the searches."""

from collections.abc import Mapping
from typing import cast

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error

from ragsite.postgres import role_connections
from ragsite.postgres.role_connections import Server

_FORM = "Write postgresql://host:5432/name, and a comma between two addresses."
_DEFAULT_PORT = 5432


def check_replica_addresses(**_: object) -> list[CheckMessage]:
    """Report addresses in RAG_DATABASE_REPLICA_URLS that are malformed, have unused parts, or are the primary."""
    addresses = [(_name(number), address) for number, address in enumerate(settings.RAG_DATABASE_REPLICAS, start=1)]
    return [message for name, address in addresses for message in _check(name, address)]


def _check(name: str, address: Server) -> list[CheckMessage]:
    parameters = role_connections.connection_parameters(address)
    engine = address.get("ENGINE", "")
    if "postgresql" not in engine or not parameters.get("host") or not parameters.get("dbname"):
        return [Error(f"{name} is not an address of a PostgreSQL database.", hint=_FORM, id="ragsite.E005")]
    messages: list[CheckMessage] = []
    if address.get("USER") or address.get("PASSWORD") or {"user", "password"} & parameters.keys():
        messages.append(
            checks.Warning(
                f"{name} has a user or a password, which is not used: web servers log in with their own roles.",
                hint=f"Remove it from the address. {_FORM}",
                id="ragsite.W003",
            )
        )
    if "," in str(parameters["host"]):
        messages.append(
            checks.Warning(
                f"{name} names several servers: what was checked on one may be read from another.",
                hint=f"Give each replica an address of its own. {_FORM}",
                id="ragsite.W004",
            )
        )
    if _place(parameters) == _place(role_connections.connection_parameters(_primary())):
        messages.append(
            checks.Warning(
                f"{name} is the primary: each search would ask it needlessly whether it is a replica.",
                hint="Remove the address, or write that of a streaming replica.",
                id="ragsite.W005",
            )
        )
    return messages


def _name(number: int) -> str:
    """Name an address without its text, which may have a password."""
    return f"Address {number} of RAG_DATABASE_REPLICA_URLS"


def _primary() -> Server:
    """Return where web servers find the primary."""
    return role_connections.pooler() or cast("Server", settings.DATABASES["default"])


def _place(parameters: Mapping[str, object]) -> tuple[str, int, str]:
    return str(parameters.get("host")), int(str(parameters.get("port") or _DEFAULT_PORT)), str(parameters.get("dbname"))
