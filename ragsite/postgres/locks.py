"""Locks of rows, and PostgreSQL's advisory locks for work that has no row to lock.

An advisory lock is known by its name, which is hashed to the 64-bit key that PostgreSQL expects
(https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS).
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import Model, QuerySet

from .base import read_rows


@transaction.atomic
def update_in_order(rows: QuerySet[Model], **values: object) -> int:
    """Update rows that other transactions change as well, locked in the order of their keys, against deadlocks.

    An UPDATE locks rows as it finds them, which may be any order. A subquery that locks them is sorted first.

    Returns:
        How many rows were updated.
    """
    locked = rows.order_by("pk").select_for_update(no_key=True).values("pk")
    return rows.model._base_manager.filter(pk__in=locked).update(**values)


def advisory_xact_locks(names: Iterable[str]) -> None:
    """Wait for all of these locks, and hold them until the transaction ends.

    The locks are taken in the order of their keys, so that two transactions cannot deadlock. That holds for the names
    of one call only: pass all names that belong together at once.
    """
    read_rows(
        "SELECT pg_advisory_xact_lock(key) FROM (SELECT DISTINCT hashtextextended(name, 0) AS key "
        "FROM unnest(%s::text[]) AS name ORDER BY key) AS ordered",
        [list(names)],
    )


def try_advisory_xact_lock(name: str, *, shared: bool = False) -> bool:
    """Take the lock until the transaction ends. Returns False immediately if another transaction holds it.

    Several transactions can hold the lock in shared mode, but not while another one holds it exclusively.
    """
    function = "pg_try_advisory_xact_lock_shared" if shared else "pg_try_advisory_xact_lock"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(hashtextextended(%s, 0))", [name])
        return bool(cursor.fetchone()[0])


@contextmanager
def session_lock(name: str, *, wait: bool = False) -> Iterator[bool]:
    """Hold the lock for the block, across transactions. Yields False if another session holds it.

    With `wait` it waits for transactions that hold the lock, and always yields True.

    The lock ends with the connection, and so with its process. If the connection is lost inside the block, another
    session may take the lock before this process notices.
    """
    with connection.cursor() as cursor:
        function = "pg_advisory_lock" if wait else "pg_try_advisory_lock"
        cursor.execute(f"SELECT {function}(hashtextextended(%s, 0))", [name])
        is_acquired = wait or bool(cursor.fetchone()[0])
    session = connection.connection
    try:
        yield is_acquired
    finally:
        if is_acquired and connection.connection is session:
            with suppress(DatabaseError, InterfaceError), connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", [name])
