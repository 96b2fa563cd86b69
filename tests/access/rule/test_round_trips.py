"""How often a web process waits for PostgreSQL to state who acts."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, transaction

from orgs.access.caller import Caller
from rag.services.queries import permitted_queries
from rag.services.queries.source_selection import SourceSelection
from rag.types import Question
from ragsite.postgres import identity
from tests.access.database.injection import execute, web_process
from tests.support.factories import World, ingest_text


@contextmanager
def round_trips() -> Iterator[Callable[[], int]]:
    """Count the answers of PostgreSQL after which it waits for the next request."""
    with tempfile.NamedTemporaryFile("r") as log:
        connection.ensure_connection()
        session = connection.connection.pgconn
        session.trace(os.open(log.name, os.O_WRONLY))

        def count() -> int:
            session.untrace()
            return log.read().count("ReadyForQuery")

        yield count


@pytest.mark.django_db(transaction=True)
def test_the_identity_is_stated_with_the_begin_of_the_transaction(live_world: World) -> None:
    with web_process(), identity.run_as(identity.of_user(live_world.users["member"].pk)):
        with round_trips() as count:
            assert execute("SELECT user_id FROM ragsite_identity()") == [(live_world.users["member"].pk,)]
            assert count() == 3  # BEGIN with the identity, the statement, COMMIT
        with round_trips() as count:
            with transaction.atomic():
                execute("SELECT 1")
                execute("SELECT 2")
            assert count() == 4


@pytest.mark.django_db(transaction=True)
def test_a_search_needs_seven_round_trips(live_world: World) -> None:
    source = live_world.source("library")
    ingest_text(source, "a", "Zebras have stripes.")
    caller = Caller(live_world.users["member"])
    question = Question("What do zebras have?", 1, rerank=False, names_sources=True)
    with web_process(), identity.run_as(caller.database_identity):
        permitted_queries.search(question, SourceSelection(caller))  # loads the models
        with round_trips() as count:
            retrieval = permitted_queries.search(question, SourceSelection(caller))
            # Permissions and models, each with its transaction; frequencies with the beginning of a third, candidates,
            # passages, the ids of sources, and the end.
            assert count() == 2 + 5
    assert retrieval.source_ids.ids == (source.pk,)
