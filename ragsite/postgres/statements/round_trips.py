"""Several statements in one round trip to PostgreSQL."""

from collections.abc import Sequence
from typing import Any

from psycopg import Connection, generators
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

# A statement with its values as $1, $2, …, and these.
Statement = tuple[str, list[bytes]]


def send_together(connection: Connection[Any], statements: Sequence[Statement]) -> list[PGresult]:
    """Send statements of the application itself in one round trip.

    Values are sent apart from the statements: PostgreSQL shows the texts of statements in pg_stat_activity, also to SQL
    that is injected into another request, and a signed identity must not be seen there.

    Returns:
        Their results, in order.

    Raises:
        psycopg.Error: One of them failed, or the connection did.
    """
    session, wait = connection.pgconn, connection.wait
    session.enter_pipeline_mode()
    try:
        for statement, values in statements:
            session.send_query_params(statement.encode(), values)
        session.pipeline_sync()
        results: list[PGresult] = wait(generators.execute(session))
        for _ in statements:  # of the other statements, and the end of the pipeline
            results += wait(generators.fetch_many(session))
    finally:
        session.exit_pipeline_mode()
    *results, _end = results
    for result in results:
        if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
            raise error_from_result(result)
    return results
