"""How long a request waits for a read replica: one that does not answer is left out, so it need not wait long."""

import contextlib
import functools
import traceback
from collections.abc import Callable, Iterator
from typing import TypeVar

from psycopg import Connection, OperationalError
from psycopg.abc import PQGen

T = TypeVar("T")

# Limits for connecting, and for noticing a host that does not answer. In seconds, the last value in milliseconds.
CONNECTION_TIMEOUTS = {
    "connect_timeout": 2,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 2,
    "tcp_user_timeout": 2_000,
}
# Limits for each answer, and for each answer in a search. After that, the primary executes the search.
ANSWER_SECONDS, SEARCH_SECONDS = 2.0, 10.0


def limit_answer_seconds(connection: Connection[object], max_seconds: Callable[[], float]) -> None:
    """End the connection if the server takes more than `max_seconds()` to answer a statement.

    TCP does not notice every silent server: its host may still confirm what arrives, for example if a disk hangs.
    """
    vars(connection)["wait"] = functools.partial(_wait, connection, max_seconds)


@contextlib.contextmanager
def close_failed_attempt() -> Iterator[None]:
    """Close the socket of an attempt to connect that fails in this block.

    psycopg leaves the socket to the garbage collector. Until then the server waits for the password, up to a minute,
    with a snapshot that keeps a replica from replaying.
    """
    try:
        yield
    except OperationalError as error:
        traceback.clear_frames(error.__traceback__)
        raise


def _wait(connection: Connection[object], max_seconds: Callable[[], float], generator: PQGen[T], **options: float) -> T:
    try:
        return Connection.wait(connection, generator, **{"timeout": max_seconds()} | options)
    except OperationalError:
        connection.pgconn.finish()
        raise
