"""The database engine: Django's PostgreSQL backend, which sets the database identity of each session and transaction.

A session has the identity of the process, and a transaction the current one (`identity.current`). The settings of a
transaction end with it, so a persistent or pooled connection carries no identity over.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from django.conf import settings
from django.db import connection as default_connection
from django.db import transaction
from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus

from . import identity
from .compatibility import DatabaseValidation
from .identity import Identity

_SET_SESSION_ROLE = "SELECT set_config('role', rolname, false) FROM pg_roles WHERE rolname = %s"
# lock_timeout also limits COMMIT, where deferred constraints wait for locks on other tables.
_SET_TIMEOUTS = "SELECT set_config(name, %s, false) FROM unnest(ARRAY['statement_timeout', 'lock_timeout']) AS name"
_SET_TRANSACTION_IDENTITY = (
    "SELECT set_config('role', %s, true), set_config('rag.user', %s, true), set_config('rag.key', %s, true), "
    "set_config('rag.action', %s, true)"
)


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that applies the current identity before the first statement of each transaction."""

    validation_class = DatabaseValidation

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._session_identity = self._applied = identity.of_process()
        self.execute_wrappers.append(self._execute_with_identity)

    def init_connection_state(self) -> None:
        super().init_connection_state()
        self._session_identity = self._applied = identity.of_process()
        if role := self._session_identity.role:
            # The role does not exist before the first migration, when there are no tables to protect either.
            with self.connection.cursor() as cursor:
                cursor.execute(_SET_SESSION_ROLE, [role])
        if self._session_identity == identity.NOBODY:  # the web server; workers have no timeouts
            with self.connection.cursor() as cursor:
                cursor.execute(_SET_TIMEOUTS, [f"{settings.RAG_DATABASE_STATEMENT_TIMEOUT_SECONDS}s"])

    def _execute_with_identity(
        self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]
    ) -> Any:
        current = identity.current()
        status = self.connection.info.transaction_status
        if status == TransactionStatus.IDLE:
            self._applied = self._session_identity
        if (
            current == self._applied or status == TransactionStatus.INERROR
        ):  # a failed transaction only accepts ROLLBACK
            return execute(sql, params, many, context)
        if not self.get_autocommit():
            self._apply(current)
            return execute(sql, params, many, context)
        with transaction.atomic(using=self.alias):
            self._apply(current)
            return execute(sql, params, many, context)

    def _apply(self, target: Identity) -> None:
        values = [target.role or "none", *(str(value or "") for value in (target.user, target.key)), target.action]
        with self.wrap_database_errors:
            self.connection.execute(_SET_TRANSACTION_IDENTITY, values)
        self._applied = target


@contextlib.contextmanager
def run_as_owner() -> Iterator[None]:
    """Run the block's statements as the owner of the tables, also outside of transactions.

    CREATE INDEX CONCURRENTLY, for example, needs the owner and cannot run in a transaction.
    """
    wrapper: Any = default_connection
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
