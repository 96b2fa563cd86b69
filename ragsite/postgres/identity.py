"""The database identity of the current code path (docs/decisions/0035-row-level-security.md).

It is set at the start of each transaction and enforced by row-level security. Without an identity, no tenant or
personal data is visible.
"""

import contextlib
import dataclasses
import uuid
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom row-level security checks.

    Attributes:
        role: The database role. Empty for the login role, which owns the tables.
        user: The user of the request.
        key: The API key of the request.
        action: `query` to read passages, `write` to read and write them where the user may ingest or delete.
    """

    role: str
    user: uuid.UUID | None = None
    key: uuid.UUID | None = None
    action: str = "query"


NOBODY = Identity("ragsite_reader")
# Workers, commands and the admin: access to all rows, without owning the tables.
WORKER = Identity("ragsite_worker")
# Migrations and index maintenance.
OWNER = Identity("")

_of_process = NOBODY
_current: ContextVar[Identity | None] = ContextVar("identity", default=None)


def of_process() -> Identity:
    """The identity with which this process opens connections."""
    return _of_process


def run_process_as(identity: Identity) -> None:
    """Set the identity of the process. Call it at the start, before a connection is opened."""
    global _of_process
    _of_process = identity


def current() -> Identity:
    return _current.get() or _of_process


def set_current(identity: Identity | None) -> None:
    """Set the identity for the rest of the request; None restores that of the process."""
    _current.set(identity)


@contextlib.contextmanager
def run_as(identity: Identity) -> Iterator[None]:
    """Use another identity in this block.

    In a request, use it only to read what the caller's own rows cannot show, and give the reason in a comment.
    """
    token = _current.set(identity)
    try:
        yield
    finally:
        _current.reset(token)


@contextlib.contextmanager
def write_access() -> Iterator[None]:
    """Access passages in this block by the right to ingest or delete, instead of the right to query."""
    with run_as(dataclasses.replace(current(), action="write")):
        yield
