"""The database engine: a connection belongs to the process's identity, and a transaction to the one that is current.

What is stated is local to the transaction, so that a connection that is kept or pooled carries nothing on.
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

_OF_SESSION = "SELECT set_config('role', rolname, false) FROM pg_roles WHERE rolname = %s"
# The second one counts in COMMIT as well, which looks at other tables for constraints that are checked there.
_AT_MOST = "SELECT set_config(name, %s, false) FROM unnest(ARRAY['statement_timeout', 'lock_timeout']) AS name"
_OF_TRANSACTION = (
    "SELECT set_config('role', %s, true), set_config('rag.user', %s, true), set_config('rag.key', %s, true), "
    "set_config('rag.action', %s, true)"
)


class DatabaseWrapper(base.DatabaseWrapper):
    validation_class = DatabaseValidation

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._of_session = self._stated = identity.of_process()
        self.execute_wrappers.append(self._state_and_execute)

    def init_connection_state(self) -> None:
        super().init_connection_state()
        self._of_session = self._stated = identity.of_process()
        if role := self._of_session.role:
            # Before the first migration there is no such role, and nothing that it could keep anybody from.
            with self.connection.cursor() as cursor:
                cursor.execute(_OF_SESSION, [role])
        if self._of_session == identity.NOBODY:  # the web server; workers take their time
            with self.connection.cursor() as cursor:
                cursor.execute(_AT_MOST, [f"{settings.RAG_DATABASE_STATEMENT_TIMEOUT_SECONDS}s"])

    def _state_and_execute(
        self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]
    ) -> Any:
        current = identity.current()
        status = self.connection.info.transaction_status
        if status == TransactionStatus.IDLE:
            self._stated = self._of_session
        if current == self._stated or status == TransactionStatus.INERROR:  # of the latter only the end can be said
            return execute(sql, params, many, context)
        if not self.get_autocommit():
            self._state(current)
            return execute(sql, params, many, context)
        with transaction.atomic(using=self.alias):
            self._state(current)
            return execute(sql, params, many, context)

    def _state(self, target: Identity) -> None:
        values = [target.role or "none", *(str(value or "") for value in (target.user, target.key)), target.action]
        with self.wrap_database_errors:
            self.connection.execute(_OF_TRANSACTION, values)
        self._stated = target


@contextlib.contextmanager
def owning() -> Iterator[None]:
    """The block's statements are the owner's, outside of transactions too, as for an index that is built beside
    writers."""
    wrapper: Any = default_connection
    wrapper.ensure_connection()
    before = wrapper._of_session
    with identity.run_as(identity.OWNER):
        wrapper.connection.execute("SET ROLE NONE")
        wrapper._of_session = identity.OWNER
        try:
            yield
        finally:
            wrapper._of_session = before
            if before.role and not wrapper.connection.closed:
                wrapper.connection.execute(_OF_SESSION, [before.role])
