"""The product's database engine without row-level security: connections log in as the settings say, which for the
embedded PostgreSQL is a superuser, to whom no policy applies, and set no identity."""

from django.db.backends.postgresql.base import DatabaseWrapper as PostgresqlWrapper

from ragsite.postgres import base
from ragsite.postgres.identity import Identity
from ragsite.postgres.statements.round_trips import Statement


class DatabaseWrapper(base.DatabaseWrapper):
    login = ""

    def init_connection_state(self) -> None:
        PostgresqlWrapper.init_connection_state(self)

    def _identity_statement(self, target: Identity, process_id: int) -> Statement:
        """Return a statement without effect, so that round trips and transactions are those of the product."""
        return "SELECT", []
