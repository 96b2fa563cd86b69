"""Several statements in one round trip to PostgreSQL."""

import datetime
import itertools
import uuid
from collections.abc import Sequence

from psycopg import Connection, DataError, Error, generators
from psycopg.abc import PQGen
from psycopg.adapt import Transformer
from psycopg.errors import FeatureNotSupported, error_from_result
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGconn, PGresult

# A value of a statement.
Value = uuid.UUID | datetime.datetime | str | int | list[uuid.UUID] | list[str] | list[int] | None
# A statement with its values as $1, $2, …, and these in PostgreSQL's text format, None for NULL.
Statement = tuple[str, list[bytes | None]]
# The statements that a session keeps parsed and planned: text → name.
KeptStatements = dict[str, bytes]

# The application sends fewer different statements. A plan may take a hundred kilobytes.
_MAX_KEPT = 64
# No name is used twice, because a session whose statements were forgotten still has them.
_numbers = itertools.count(1)


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
    connection: Connection[object],
    statements: Sequence[Statement],
    result_format: Format = Format.TEXT,
    *,
    kept: KeptStatements | None = None,
) -> list[PGresult]:
    """Send statements of the application itself in one round trip.

    Values are sent apart from the statements: PostgreSQL shows the texts of statements in pg_stat_activity, also to SQL
    that is injected into another request, and a signed identity must not be seen there.

    Args:
        connection: The session.
        statements: The statements.
        result_format: The format of all results.
        kept: What the session keeps, to which statements with values are added; None if it keeps nothing.

    Returns:
        Their results, in order.

    Raises:
        psycopg.Error: One of them failed, or the connection did.
    """
    session, results = connection.pgconn, list[PGresult]()
    added = {} if kept is None else _name_statements(statements, kept)
    names = {**(kept or {}), **added}
    session.enter_pipeline_mode()
    try:
        for text, name in added.items():
            session.send_prepare(name, text.encode())
        for text, values in statements:
            if text in names:
                session.send_query_prepared(names[text], values, result_format=result_format)
            else:
                session.send_query_params(text.encode(), values, result_format=result_format)
        session.pipeline_sync()
        connection.wait(_receive(session, results, len(added) + len(statements)))
        session.exit_pipeline_mode()
    except BaseException as error:
        connection.close()  # it is lost, or more is to be received: PgBouncer's error after the server's
        if isinstance(error, Error):
            _raise_first_error(results)  # why the server has ended the session
        raise
    if kept is not None:
        is_kept = (result.status == ExecStatus.COMMAND_OK for result in results)
        kept |= itertools.compress(added.items(), is_kept)
    try:
        _raise_first_error(results)
    except FeatureNotSupported:  # a migration has changed the columns of a result: the session is not used again
        if kept:
            kept.clear()
        raise
    return results[len(added) : -1]


def _name_statements(statements: Sequence[Statement], kept: KeptStatements) -> KeptStatements:
    """Return the statements to prepare: those with values that the session does not keep yet, as far as it may."""
    texts = dict.fromkeys(text for text, values in statements if values and text not in kept)
    return {text: b"%d" % next(_numbers) for text in list(texts)[: _MAX_KEPT - len(kept)]}


def _receive(session: PGconn, results: list[PGresult], statement_count: int) -> PQGen[None]:
    """Append the results of the statements, and the end of the pipeline."""
    results += yield from generators.execute(session)
    for _ in range(statement_count):
        results += yield from generators.fetch_many(session)


def _raise_first_error(results: Sequence[PGresult]) -> None:
    for result in results:
        if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK, ExecStatus.PIPELINE_SYNC):
            raise error_from_result(result)
