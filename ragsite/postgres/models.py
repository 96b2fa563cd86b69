"""What every model shares: a time-ordered identifier and how one is read; turns for what has no row to lock."""

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

import uuid_utils.compat
from django.db import DatabaseError, InterfaceError, connection, models


def uuid7() -> uuid.UUID:
    """A UUIDv7 (RFC 9562): sorts by the millisecond of its making, so new rows land at the end of an index."""
    return uuid_utils.compat.uuid7()


def as_uuid(text: str) -> uuid.UUID | None:
    """The identifier that a client wrote; None if it is none."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


class UUIDModel(models.Model):
    """A model whose public identifier is also its key."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)

    class Meta:
        abstract = True


def take_turns(names: Iterable[str]) -> None:
    """Wait until no other transaction has a turn of these names, and keep them until the caller's ends.

    Everybody takes several in the same order, so that no two wait for each other: those of a kind at once.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(key) FROM (SELECT DISTINCT hashtextextended(name, 0) AS key "
            "FROM unnest(%s::text[]) AS name ORDER BY key) AS ordered",
            [list(names)],
        )


def take_free_turn(name: str) -> bool:
    """The same without waiting: False if another transaction has it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))", [name])
        return bool(cursor.fetchone()[0])


@contextmanager
def hold_turn(name: str) -> Iterator[bool]:
    """A turn for longer than a transaction, without waiting: False if another connection has it.

    It ends with the connection, and so with its process. If the database goes away meanwhile, somebody else may get it
    before this process has noticed.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [name])
        is_mine = bool(cursor.fetchone()[0])
    session = connection.connection
    try:
        yield is_mine
    finally:
        if is_mine and connection.connection is session:
            with suppress(DatabaseError, InterfaceError), connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", [name])
