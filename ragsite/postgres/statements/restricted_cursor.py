"""The cursor of web processes, which refuses statements that requests never send."""

import re
from typing import Any

from django.db.backends.postgresql import base
from psycopg import ProgrammingError

# What a request sends. Others could change the role itself (its password, its defaults) or leave something behind.
PERMITTED_STATEMENT = re.compile(
    rb"[\s(]*(?:SELECT|WITH|VALUES|INSERT|UPDATE|DELETE|SAVEPOINT|RELEASE|ROLLBACK|SET CONSTRAINTS)\b"
    # What a request ingests: rows in binary form, over the connection and never from a file.
    rb"|COPY pg_temp\.staging_\w+ \([\w\", ]+\) FROM STDIN \(FORMAT BINARY\)\Z"
    rb"|CREATE TEMPORARY TABLE staging_\w+ ON COMMIT DELETE ROWS AS SELECT [\w\", ]+ FROM \w+ WITH NO DATA\Z"
    rb"|GRANT ALL ON pg_temp\.staging_\w+ TO PUBLIC\Z",
    re.IGNORECASE,
)


class RestrictedCursor(base.ServerBindingCursor):
    """A cursor that reads and writes rows only, sends values apart from the statement, and one statement at a time.

    PostgreSQL's extended protocol refuses a text with several statements. psycopg itself uses it only with
    parameters.
    """

    def _execute_send(self, query: Any, *, force_extended: bool = True, binary: bool | None = None) -> None:
        if not PERMITTED_STATEMENT.match(query.query):
            raise ProgrammingError("A web process only reads and writes rows.")
        super()._execute_send(query, force_extended=True, binary=binary)  # type: ignore[misc]  # not in the stubs
