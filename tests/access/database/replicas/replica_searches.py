"""Searches in a web process, and whether a replica executed them."""

import uuid
from collections.abc import Set
from typing import Any, NamedTuple

from orgs.access.caller import Caller
from rag.services.queries import permitted_queries
from rag.services.queries.source_selection import SourceSelection
from rag.types import Question
from ragsite.observability import measurement_buffer
from ragsite.postgres import identity
from tests.access.database.injection import web_process


class SearchOutcome(NamedTuple):
    """The documents that a search finds, and whether a replica executed it."""

    document_ids: Set[uuid.UUID | None]
    used_replica: bool


def search(caller: Caller, text: str = "animals", **options: Any) -> SearchOutcome:
    """Search in a web process."""
    with web_process():
        return search_again(caller, text, **options)


def search_again(caller: Caller, text: str = "animals", **options: Any) -> SearchOutcome:
    """Search as `search` does, in a web process that exists already."""
    measurement_buffer.take()
    with identity.run_as(caller.database_identity):
        question = Question(text, top_k=50, **options)
        retrieval = permitted_queries.search(question, SourceSelection(caller))
    return SearchOutcome({passage.document_id for passage in retrieval.passages}, used_replica=used_replica())


def used_replica() -> bool:
    """Return whether a search was executed on a replica since the last call."""
    return any(key.name == "search_on_replica" for key in measurement_buffer.take().totals)
