"""The database identity of the current code path (docs/decisions/0035-row-level-security.md).

It is set at the start of each transaction and enforced by row-level security. Without an identity, no tenant or
personal data is visible.
"""

import contextlib
import dataclasses
import hmac
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass

from .derived_keys import derive_key

# How long a signed identity is valid: longer than any transaction of a request.
LIFETIME_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity that row-level security checks.

    Attributes:
        role: The database role. Empty for the owner of the tables.
        user: The user of the request.
        key: The API key of the request.
        action: `query` to read passages, `write` to read and write them where the user may ingest or delete, `members`
            to change who may do what in the user's organisations, `all` for the staff role without a limit.
        sources: The data sources that the statements are about, if they are few. They give no access: row-level
            security looks up the grants of these, instead of listing all sources that are granted to the user.
        slugs: The same, for data sources that the request names by their slugs.
    """

    role: str
    user: uuid.UUID | None = None
    key: uuid.UUID | None = None
    action: str = "query"
    sources: tuple[uuid.UUID, ...] = ()
    slugs: tuple[str, ...] = ()


# The role of all requests of API clients and pages, anonymous or not.
READER_ROLE = "ragsite_reader"
ANONYMOUS = Identity(READER_ROLE)
# Sign-in: reads and writes credentials and sessions, and no content.
SIGN_IN = Identity("ragsite_sign_in")
# Reads and creates rows of all organisations. The action is part of the signature, so injected SQL cannot take this
# identity.
STAFF = Identity("ragsite_staff", uuid.UUID(int=0), action="all")
# Workers and commands: access to all rows, without owning the tables.
WORKER = Identity("ragsite_worker")
# Migrations and index maintenance.
OWNER = Identity("")


def of_user(user_id: uuid.UUID | None, key_id: uuid.UUID | None = None) -> Identity:
    """Return the identity of a user's request, made with this API key if there is one."""
    return Identity(READER_ROLE, user_id, key_id)


def of_staff(user_id: uuid.UUID | None) -> Identity:
    """Return the identity of a page of the admin: the rows of the user's organisations, for a superuser all rows."""
    return Identity(STAFF.role, user_id)


_of_process = ANONYMOUS
_current: ContextVar[Identity | None] = ContextVar("identity", default=None)
# Called with the current identity when it changes (ragsite.postgres.role_connections).
_listeners: list[Callable[[Identity], None]] = []


def of_process() -> Identity:
    """Return the identity with which this process opens connections."""
    return _of_process


def run_process_as(identity: Identity) -> None:
    """Set the identity of the process. Call it at the start, before a connection is opened."""
    global _of_process
    _of_process = identity


def current() -> Identity:
    return _current.get() or _of_process


def on_change(listener: Callable[[Identity], None]) -> None:
    """Call this function whenever the current identity changes."""
    _listeners.append(listener)


def set_current(identity: Identity | None) -> None:
    """Set the identity for the rest of the request; None restores that of the process."""
    _current.set(identity)
    _notify()


def _notify() -> None:
    for listener in _listeners:
        listener(current())


@contextlib.contextmanager
def run_as(identity: Identity) -> Iterator[None]:
    """Use another identity in this block.

    In a request, use it only to read what the caller's own rows cannot show, and give the reason in a comment.
    """
    token = _current.set(identity)
    _notify()
    try:
        yield
    finally:
        _current.reset(token)
        _notify()


@contextlib.contextmanager
def member_changes() -> Iterator[None]:
    """Change members and roles in this block, even when the user thereby gives up the right to change them."""
    with run_as(dataclasses.replace(current(), action="members")):
        yield


@contextlib.contextmanager
def write_access() -> Iterator[None]:
    """Access passages in this block by the right to ingest or delete, instead of the right to query."""
    with run_as(dataclasses.replace(current(), action="write")):
        yield


@contextlib.contextmanager
def hint_sources(source_ids: Iterable[uuid.UUID], *, slugs: Iterable[str] = ()) -> Iterator[None]:
    """Tell row-level security which data sources the block reads, so that it looks up the grants of these only.

    A hint that saves time if the sources are few. It gives no access.

    Args:
        source_ids: The ids of sources.
        slugs: The slugs of others, in any of the caller's organisations.
    """
    with run_as(dataclasses.replace(current(), sources=tuple(sorted(source_ids)), slugs=tuple(sorted(slugs)))):
        yield


def sign(identity: Identity, process_id: int) -> str:
    """Return the value of the setting `rag.identity`, which the SQL function `ragsite_identity` verifies.

    See docs/decisions/0043-injected-sql.md.

    Args:
        identity: The identity to sign.
        process_id: The process id of the connection's server process. The value is valid on no other connection.

    Returns:
        The value; an empty string for an identity without a user.
    """
    if identity.user is None:
        return ""
    expires_at = int(time.time()) + LIFETIME_SECONDS
    message = f"{identity.user}|{identity.key or ''}|{identity.action}|{expires_at}|{process_id}"
    signature = hmac.new(derive_key("identity"), message.encode(), "sha256").hexdigest()
    return f"{message}|{signature}"
