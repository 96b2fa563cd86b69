"""As whom code speaks to the database (docs/decisions/0035-row-level-security.md).

An identity is stated to PostgreSQL at the beginning of each transaction and ends with it (ragsite.postgres); policies
decide there what it sees. Without one, nothing that belongs to a data source or to a person is visible.
"""

import contextlib
import dataclasses
import uuid
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Identity:
    """role: the database role; empty for the login itself, which owns the tables. user, key: whose request it is, and
    by which API key. action: what passages are read for, `query`, or read and written for, `write`."""

    role: str
    user: uuid.UUID | None = None
    key: uuid.UUID | None = None
    action: str = "query"


NOBODY = Identity("ragsite_reader")
# Workers, commands and the admin: every row, but no ownership.
WORKER = Identity("ragsite_worker")
# Migrations, and building indexes.
OWNER = Identity("")

_of_process = NOBODY
_current: ContextVar[Identity | None] = ContextVar("identity", default=None)


def of_process() -> Identity:
    """Whose connections this process opens."""
    return _of_process


def run_process_as(identity: Identity) -> None:
    """To be called where a process begins, before it opens a connection."""
    global _of_process
    _of_process = identity


def current() -> Identity:
    return _current.get() or _of_process


def set_current(identity: Identity | None) -> None:
    """From here to the end of the request; None: the process's own again."""
    _current.set(identity)


@contextlib.contextmanager
def run_as(identity: Identity) -> Iterator[None]:
    """This block alone. In a request: only for what the caller's own rows cannot tell, with a comment that says why."""
    token = _current.set(identity)
    try:
        yield
    finally:
        _current.reset(token)


@contextlib.contextmanager
def write_access() -> Iterator[None]:
    """The caller's passages are read and written where they may send documents or delete them, not where they may
    query."""
    with run_as(dataclasses.replace(current(), action="write")):
        yield
