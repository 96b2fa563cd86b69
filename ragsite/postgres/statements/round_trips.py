"""Several statements in one round trip to PostgreSQL."""

import datetime
import uuid
from collections.abc import Sequence

from psycopg import Connection, DataError, Error, generators
from psycopg.abc import PQGen
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGconn, PGresult

# A value of a statement.
Value = uuid.UUID | datetime.datetime | str | int | list[uuid.UUID] | list[str] | list[int] | None
# A statement with its values as $1, $2, …, and these in PostgreSQL's text format, None for NULL.
Statement = tuple[str, list[bytes | None]]


def to_text(value: Value) -> bytes | None:
    """Return a value in PostgreSQL's text format.

    Raises:
        psycopg.DataError: A text has a NUL, at which libpq would cut it off.
    """
    if value is None:
        return None
    text = f"{{{','.join(map(_element, value))}}}" if isinstance(value, list) else str(value)
    if "\0" in text:
        raise DataError("PostgreSQL's texts cannot contain NUL.")
    return text.encode()


def _element(value: uuid.UUID | str | int) -> str:
    if not isinstance(value, str):
        return value.hex if isinstance(value, uuid.UUID) else str(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def load_rows(connection: Connection[object], result: PGresult) -> list[tuple[object, ...]]:
    """Return the rows of a result as Python's values."""
    rows = Transformer(connection)
    rows.set_pgresult(result)
    return rows.load_rows(0, result.ntuples, tuple)


def send_together(
    connection: Connection[object], statements: Sequence[Statement], result_format: Format = Format.TEXT
) -> list[PGresult]:
    """Send statements of the application itself in one round trip.

    Values are sent apart from the statements: PostgreSQL shows the texts of statements in pg_stat_activity, also to SQL
    that is injected into another request, and a signed identity must not be seen there.

    Returns:
        Their results, in order.

    Raises:
        psycopg.Error: One of them failed, or the connection did.
    """
    session, results = connection.pgconn, list[PGresult]()
    session.enter_pipeline_mode()
    try:
        for statement, values in statements:
            session.send_query_params(statement.encode(), values, result_format=result_format)
        session.pipeline_sync()
        connection.wait(_receive(session, results, len(statements)))
        session.exit_pipeline_mode()
    except BaseException as error:
        connection.close()  # it is lost, or more is to be received: PgBouncer's error after the server's
        if isinstance(error, Error):
            _raise_first_error(results)  # why the server has ended the session
        raise
    _raise_first_error(results)
    return results[:-1]


def _receive(session: PGconn, results: list[PGresult], statement_count: int) -> PQGen[None]:
    """Append the results of the statements, and the end of the pipeline."""
    results += yield from generators.execute(session)
    for _ in range(statement_count):
        results += yield from generators.fetch_many(session)


def _raise_first_error(results: Sequence[PGresult]) -> None:
    for result in results:
        if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK, ExecStatus.PIPELINE_SYNC):
            raise error_from_result(result)
