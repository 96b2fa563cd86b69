"""The database engine `ragsite.postgres`: Django fixes the name `base` of this module.

It is Django's PostgreSQL backend, which also sets the database identity of each session and transaction.
A session has the identity of the process, and a transaction the current one (`identity.current`), signed. The settings
of a transaction end with it, and a web process resets its session before each request, so a persistent connection
carries nothing over (docs/decisions/0035-row-level-security.md).
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, InternalError, OperationalError, connections, transaction
from django.db.backends.postgresql import base, operations
from django.db.backends.utils import CursorWrapper
from psycopg import Error, generators
from psycopg.pq import ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGresult

from . import identity, role_connections
from .derived_keys import role_password
from .identity import Identity, sign
from .replicas.bounded_waits import ANSWER_SECONDS, CONNECTION_TIMEOUTS, close_failed_attempt, limit_answer_seconds
from .role_connections import Server
from .statements.restricted_cursor import RestrictedCursor
from .statements.round_trips import Statement, Value, load_rows, send_together, to_text
from .versions.compatibility import DatabaseValidation
from .versions.running_versions import version_name

Result = TypeVar("Result")

# PostgreSQL's protocol counts them with 16 bits.
_MAX_VALUES = 65_535
_SET_SESSION_ROLE = "SELECT set_config('role', rolname, false) FROM pg_roles WHERE rolname = %s"
_ROLLBACK = re.compile(r"[\s(]*ROLLBACK\b", re.IGNORECASE)
# PostgreSQL does not notice for hours that the host of a session was cut off. Until then the session keeps its locks.
# With these settings it ends within 20 seconds. They have no effect on Unix sockets. The last is in milliseconds.
_SERVER_KEEPALIVES = {
    "tcp_keepalives_idle": 5, "tcp_keepalives_interval": 5, "tcp_keepalives_count": 3, "tcp_user_timeout": 20_000,
}  # fmt: skip
_SET_KEEPALIVES = "SELECT " + ", ".join(
    f"pg_catalog.set_config('{name}', '{value}', false)" for name, value in _SERVER_KEEPALIVES.items()
)


class DatabaseOperations(operations.DatabaseOperations):
    """Divides bulk inserts: PostgreSQL accepts a limited number of values apart from a statement."""

    def bulk_batch_size(self, fields: Sequence[object], objs: Sequence[object]) -> int:
        return _MAX_VALUES // max(1, len(fields))


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that applies the current identity before the first statement of each transaction."""

    ops_class = DatabaseOperations
    validation_class = DatabaseValidation

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.role = identity.READER_ROLE  # the role of its login, if it has one (ragsite.postgres.role_connections)
        self.replica_address: Server = {}  # empty for the primary
        self.max_wait_seconds = ANSWER_SECONDS  # for each answer of a replica
        self._session_identity = identity.of_process()
        self._applied: Identity | None = self._session_identity
        self._process_id = 0  # of the server, in a pooled transaction
        self.execute_wrappers.append(self._execute_with_identity)

    @property
    def login(self) -> str:
        """The role that this connection logs in as; empty if it switches its role."""
        return self.role if role_connections.has_logins() else ""

    @property
    def is_pooled(self) -> bool:
        """Whether each transaction of this connection may run in another session of the server."""
        return bool(self.login) and bool(role_connections.pooler())

    def get_connection_params(self) -> dict[str, object]:
        parameters = {"application_name": version_name()} | super().get_connection_params()
        if not self.login:
            return parameters
        if address := self.replica_address or role_connections.pooler():
            parameters |= role_connections.connection_parameters(address)
        # Whatever the address says.
        parameters |= {
            "user": self.login,
            "password": role_password(self.login),
            "cursor_factory": RestrictedCursor,
        }
        if self.replica_address:
            parameters |= CONNECTION_TIMEOUTS
        if self.is_pooled:
            return parameters
        # Set at the start of the session, so that a reset restores them.
        session_settings = [*_SERVER_KEEPALIVES.items(), *self._session_settings()]
        options = [parameters.get("options", ""), *(f"-c {name}={value}" for name, value in session_settings)]
        return parameters | {"options": " ".join(options).strip()}

    def get_new_connection(self, conn_params: dict[str, object]) -> Any:
        with close_failed_attempt():
            connection = super().get_new_connection(conn_params)
        if self.replica_address:
            limit_answer_seconds(connection, lambda: self.max_wait_seconds)
        return connection

    def _session_settings(self) -> list[tuple[str, str]]:
        """Return the settings of a web process. lock_timeout counts in COMMIT as well, which reads other tables."""
        timeout = f"{settings.RAG_DATABASE_STATEMENT_TIMEOUT_SECONDS}s"
        return [
            ("search_path", "public,pg_temp"),
            ("TimeZone", self.timezone_name),
            ("statement_timeout", timeout),
            ("lock_timeout", timeout),
        ]

    def init_connection_state(self) -> None:
        super().init_connection_state()
        if self.login:
            self._session_identity = self._applied = Identity(self.login)
            return
        self._session_identity = self._applied = identity.of_process()
        with self.connection.cursor() as cursor:
            cursor.execute(_SET_KEEPALIVES)
        if role := self._session_identity.role:
            # Before the first migration the role does not exist, nor does anything that it must not read.
            with self.connection.cursor() as cursor:
                cursor.execute(_SET_SESSION_ROLE, [role])

    def chunked_cursor(self) -> CursorWrapper:
        """Return a cursor for many rows: an ordinary one if the next part could come from another session."""
        return self.cursor() if self.is_pooled else super().chunked_cursor()

    def is_usable(self) -> bool:
        """Return whether the connection answers. Django calls this when a request uses it for the first time.

        A web process also removes whatever an earlier request left in the session: settings, temporary tables, locks,
        an open transaction. Only injected SQL would leave something there, for requests of other callers.
        """
        if not self.login:
            return super().is_usable()
        connection = self.connection
        if connection is None or connection.info.transaction_status != TransactionStatus.IDLE:
            return False
        if self.is_pooled:  # the pooler has reset the session after the transaction
            return super().is_usable()
        try:
            connection.pgconn.send_query(role_connections.RESET_SESSION.encode())
            *_, result = connection.wait(generators.execute(connection.pgconn))
        except Error:
            return False
        return bool(result.status == ExecStatus.TUPLES_OK)

    def commit(self) -> None:
        try:
            super().commit()
        except InternalError as error:
            if not self.connection.closed:
                raise
            # PgBouncer sent an error of its own after the server's, and psycopg expects one answer to COMMIT.
            raise OperationalError("The server ended the session before its transaction.") from error

    def _execute_with_identity(
        self, execute: Callable[..., Result], sql: str, params: object, many: bool, context: dict[str, Any]
    ) -> Result:
        current = identity.current()
        status = self.connection.info.transaction_status
        if status == TransactionStatus.IDLE:
            self._applied = None if self.is_pooled else self._session_identity
        # In a failed transaction only its end can be executed.
        if current != self._applied and status != TransactionStatus.INERROR:
            if self.get_autocommit():
                with transaction.atomic(using=self.alias):
                    self._apply(current)
                    return execute(sql, params, many, context)
            self._apply(current)
        result = execute(sql, params, many, context)
        if _ROLLBACK.match(str(sql)):  # to a savepoint, before which another identity may have been current
            self._applied = None
        return result

    def _apply(self, target: Identity) -> None:
        """Set the identity for the rest of the transaction, in the round trip that begins it if it has not begun."""
        with self.wrap_database_errors:
            process_id = self._begin_pooled() if self.is_pooled else self.connection.info.backend_pid
            send_together(self.connection, [*self._begin(), self._identity_statement(target, process_id)])
        self._applied = target

    def _identity_statement(self, target: Identity, process_id: int) -> Statement:
        """Return the statement that sets the identity for the rest of a transaction in this process of the server."""
        assert target.role == self.login or not self.login
        values = {"rag.identity": sign(target, process_id), "rag.sources": ",".join(map(str, target.sources))}
        values["rag.source_slugs"] = ",".join(target.slugs)
        values |= {} if self.login else {"role": target.role or "none"}
        settings_sql = ", ".join(
            f"pg_catalog.set_config('{name}', ${number}, true)" for number, name in enumerate(values, start=1)
        )
        return f"SELECT {settings_sql}", [value.encode() for value in values.values()]

    def read_rows(self, sql: str, values: Sequence[Value], *, binary: bool = False) -> list[tuple[Any, ...]]:
        """Return the rows of one statement of the application itself, in one round trip.

        The statement is sent together with the beginning of its transaction, unless that has begun, and with the end if
        it is a transaction alone. Django and psycopg would look at each value, and wait more often.

        Args:
            sql: A statement that reads, with a %s for each value.
            values: The values, whose types PostgreSQL infers.
            binary: Receive the rows in PostgreSQL's binary format.
        """
        self.close_if_health_check_failed()
        self.ensure_connection()
        has_own_wrapper_only = self.execute_wrappers == [self._execute_with_identity]  # others watch statements
        if self.is_pooled or not has_own_wrapper_only:
            with self.cursor() as cursor:
                cursor.cursor.format = Format.BINARY if binary else Format.TEXT
                cursor.execute(sql, values)
                return list(cursor.fetchall())
        numbered = sql % tuple(f"${number}" for number in range(1, len(values) + 1))
        result_format = Format.BINARY if binary else Format.TEXT
        with self.wrap_database_errors:
            statement = (numbered, [to_text(value) for value in values])
            if not self.get_autocommit():
                return load_rows(self.connection, self._send_in_transaction([statement], result_format))
            session = self.connection
            identity_statement = self._identity_statement(identity.current(), session.info.backend_pid)
            try:
                statements = [*self._begin(), identity_statement, statement, ("COMMIT", [])]
                *_, result, _end = send_together(session, statements, result_format)
            except Error:
                if not session.closed:
                    session.rollback()
                raise
            return load_rows(session, result)

    def execute_together(self, statements: Sequence[str]) -> None:
        """Execute statements of the application itself, without values, in one round trip of the current transaction.

        Args:
            statements: The statements, whose results nobody needs.
        """
        if self.is_pooled or self.execute_wrappers != [self._execute_with_identity]:  # others watch statements
            with self.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
            return
        with self.wrap_database_errors:
            self._send_in_transaction([(statement, []) for statement in statements], Format.TEXT)

    def _send_in_transaction(self, statements: Sequence[Statement], result_format: Format) -> PGresult:
        """Send the statements in one round trip of the current transaction, and return the result of the last one."""
        self.validate_no_broken_transaction()
        session, current = self.connection, identity.current()
        status = session.info.transaction_status
        if status == TransactionStatus.IDLE:
            self._applied = self._session_identity
        if current != self._applied and status != TransactionStatus.INERROR:
            statements = [self._identity_statement(current, session.info.backend_pid), *statements]
        *_, result = send_together(session, [*self._begin(), *statements], result_format)
        self._applied = current
        return result

    def _begin(self) -> list[Statement]:
        """Return the statement that begins the transaction; nothing if it has begun."""
        session = self.connection
        if (session.isolation_level, session.read_only, session.deferrable) != (None, None, None):
            session.execute("SELECT")  # psycopg knows the statement
        return [("BEGIN", [])] if session.info.transaction_status == TransactionStatus.IDLE else []

    def _begin_pooled(self) -> int:
        """Begin the transaction unless it has begun, and return the id of the server's process that has it.

        This takes one round trip, as BEGIN alone does. The pooler states an id of its own when it is connected to.
        """
        if self.connection.info.transaction_status == TransactionStatus.IDLE:
            settings_sql = [
                f"SELECT pg_catalog.set_config('{name}', '{value}', true)" for name, value in self._session_settings()
            ]
            statements = ["BEGIN", *settings_sql, "SELECT pg_catalog.pg_backend_pid()"]
            *_, result = send_together(self.connection, [(sql, []) for sql in statements])
            self._process_id = int(result.get_value(0, 0) or b"")
        return self._process_id


def read_rows(sql: str, values: Sequence[Value], *, binary: bool = False) -> list[tuple[Any, ...]]:
    """Return the rows of a statement with the current identity, in as few round trips as possible."""
    return _default_connection().read_rows(sql, values, binary=binary)


def execute_together(statements: Sequence[str]) -> None:
    """Execute statements without values in the current transaction, in one round trip."""
    _default_connection().execute_together(statements)


def _default_connection() -> DatabaseWrapper:
    wrapper = connections[DEFAULT_DB_ALIAS]
    assert isinstance(wrapper, DatabaseWrapper)
    return wrapper


@contextlib.contextmanager
def run_as_owner() -> Iterator[None]:
    """Run the block's statements as the owner of the tables, even outside of transactions.

    CREATE INDEX CONCURRENTLY, for example, needs the owner and cannot run in a transaction.
    """
    wrapper = _default_connection()
    wrapper.ensure_connection()
    previous = wrapper._session_identity
    with identity.run_as(identity.OWNER):
        wrapper.connection.execute("SET ROLE NONE")
        wrapper._session_identity = identity.OWNER
        try:
            yield
        finally:
            wrapper._session_identity = previous
            if previous.role and not wrapper.connection.closed:
                wrapper.connection.execute(_SET_SESSION_ROLE, [previous.role])
