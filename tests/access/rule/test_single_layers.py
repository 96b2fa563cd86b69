"""Each access layer alone hides a secret: requests while the other layer is disabled, and rows without any filter."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.db.models import Model
from django.test import Client as Browser
from rest_framework_simplejwt.tokens import AccessToken

from orgs.access.caller import Caller
from orgs.models import Organization
from rag.models import Chunk, DataSource, Document, IngestionJob
from rag.models.ingestion.jobs import IngestionDocumentQuerySet, JobContentQuerySet
from rag.models.search.conversations import Conversation, ConversationMessage
from rag.models.search.stored_searches import HistoryUsage, SearchRecord
from rag.models.sources import DataSourceQuerySet, QueryableSources, SourceContentQuerySet
from rag.providers.stores.pgvector import token_signatures
from ragsite.postgres import identity
from ragsite.postgres.identity import ANONYMOUS
from tests.access import check_counts
from tests.access.database.test_row_level_security import VISIBLE_FOR, identity_of
from tests.support.factories import World, ingest_text

SECRET = "Nightshade"
# Has no word of the secret text, because answers repeat the parts of a question without results.
QUESTION = "In which place do they keep the plant?"
# One that the secret text answers, for responses that are nothing but the answer.
ANSWERED = "What is kept in the blue cabinet?"
# A request for every operation that returns content. {source}, {job}, {document} and {search} are the secret's ids.
REQUESTS: list[tuple[str, str, Any]] = [
    ("POST", "/api/rag/search", {"query": QUESTION}),
    ("POST", "/api/rag/search", {"query_text": QUESTION}),
    ("POST", "/functions/v1/rag-search", {"query_text": QUESTION}),
    ("POST", "/api/rag/answer", {"query_text": QUESTION}),
    ("POST", "/functions/v1/rag-answer", {"query_text": QUESTION}),
    ("POST", "/api/rag/retrieve", {"query": QUESTION, "rerank": False}),
    ("POST", "/api/rag/retrieve", {"query": QUESTION}),
    ("POST", "/api/rag/retrieve", {"query": QUESTION, "mode": "lexical"}),
    ("POST", "/api/rag/retrieve", {"query": QUESTION, "dataSources": ["{source}"]}),
    ("POST", "/api/rag/retrieve", {"query": QUESTION, "filters": [{"field": "tags", "value": "plants"}]}),
    ("POST", "/api/rag/query", {"query": QUESTION}),
    ("POST", "/api/chat", {"messages": [{"role": "user", "content": QUESTION}], "useRag": True}),
    ("POST", "/agent/respond", {"query": QUESTION}),
    ("POST", "/api/v1/search", {"query": QUESTION}),
    ("GET", "/api/v1/search/{search}", None),
    *(
        ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        for method, params in (
            ("tools/call", {"name": "search", "arguments": {"query": QUESTION}}),
            ("tools/call", {"name": "ask", "arguments": {"question": ANSWERED}}),
            ("tools/call", {"name": "list_sources"}),
            ("resources/list", {}),
        )
    ),
    ("GET", "/v1/models", None),
    ("GET", "/v1/models/ragsite/nightshade", None),
    ("POST", "/v1/chat/completions", {"model": "ragsite", "messages": [{"role": "user", "content": ANSWERED}]}),
    ("GET", "/api/rag/sources", None),
    ("GET", "/api/rag/sources/{source}", None),
    ("PATCH", "/api/rag/sources/{source}", {"description": "mine"}),
    ("GET", "/api/rag/sources/{source}/documents", None),
    ("GET", "/api/rag/sources/{source}/documents/{document}", None),
    ("GET", "/api/rag/ingest", None),
    ("GET", "/api/rag/ingest/{job}", None),
    ("GET", "/api/rag/ingest/{job}/documents", None),
]


@pytest.fixture
def secrets(world: World) -> dict[str, str]:
    """The ids of a personal source and its content, which contain a word that only the owner may read."""
    source = world.source(SECRET.lower(), name=f"{SECRET} papers", visibility="personal", description=SECRET)
    ingest_text(
        source,
        f"{SECRET}.md",
        f"{SECRET} is kept in the blue cabinet of the cellar.",
        title=f"{SECRET} report",
        tags=("plants",),
    )
    ingest_text(
        world.source("open"), "open.md", "The reading room opens at nine.", title="Opening hours", tags=("plants",)
    )
    document = Document.objects.get(source=source)
    job = IngestionJob.objects.create(source=source, chunk_size=1, chunk_overlap=0)
    job.documents.create(
        source=source, index=0, path=f"{SECRET}.md", title=SECRET, state="failed", error_message=SECRET
    )
    owner = world.users["owner"]
    chunk = Chunk.objects.get(source=source)
    search = SearchRecord.objects.create(
        user=owner, text=SECRET, results=[{"chunk": str(chunk.pk), "score": 0.9}], time_ms=1.0
    )
    conversation = Conversation.objects.create(user=owner)
    ConversationMessage.objects.create(conversation=conversation, position=0, role="user", content=SECRET)
    rows = {"source": source, "document": document, "job": job, "search": search}
    return {name: str(row.pk) for name, row in rows.items()}


def send_requests(world: World, secrets: dict[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """Send all requests as each user who may not read the secret. Yields user, method, path and answer."""
    for name in ("member", "supporter", "foreigner"):
        token = AccessToken.for_user(world.users[name])
        browser = Browser(headers={"authorization": f"Bearer {token}"}, raise_request_exception=False)
        for method, path, body in REQUESTS:
            for key, value in secrets.items():
                path = path.replace(f"{{{key}}}", value)
                body = {**body, "dataSources": [value]} if body and key == "source" and "dataSources" in body else body
            content = "" if body is None else json.dumps(body)
            reply = browser.generic(method, path, content, content_type="application/json")
            check_counts.count("requests with one access layer only")
            yield name, method, path, reply.content.decode()


def find_leaks(world: World, secrets: dict[str, str]) -> list[str]:
    """The requests whose answers contain a part of the secret."""
    leaks = []
    for name, method, path, answer in send_requests(world, secrets):
        text = answer.lower()
        if SECRET.lower() in text or "cellar" in text or secrets["document"] in text:
            leaks.append(f"{name}: {method} {path}: {answer[:300]}")
    check_counts.count("leaks", len(leaks))
    return leaks


def all_sources() -> QueryableSources:
    organizations = frozenset(Organization.objects.values_list("pk", flat=True))
    return QueryableSources(organizations, lambda: DataSource.objects.exclude(visibility="public"))


def disable_queryset_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DataSourceQuerySet, "visible_to", lambda self, user, action: self.filter(deleted_at=None))
    monkeypatch.setattr(DataSourceQuerySet, "queryable_by", lambda self, user: all_sources())
    for queryset in (SourceContentQuerySet, JobContentQuerySet, IngestionDocumentQuerySet):
        monkeypatch.setattr(queryset, "visible_to", lambda self, user, action: self.all())


def disable_row_level_security(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Caller, "database_identity", identity.WORKER)


def test_nothing_leaks_without_queryset_filters(
    world: World, secrets: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    disable_queryset_filters(monkeypatch)
    assert find_leaks(world, secrets) == []
    assert DataSource.objects.filter(description="mine").count() == 0


def test_nothing_leaks_without_row_level_security(
    world: World, secrets: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    disable_row_level_security(monkeypatch)
    assert find_leaks(world, secrets) == []
    assert DataSource.objects.filter(description="mine").count() == 0


def test_everything_leaks_without_both_layers(
    world: World, secrets: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shows that the two tests above send requests that can leak."""
    disable_row_level_security(monkeypatch)
    disable_queryset_filters(monkeypatch)
    before = check_counts.counted.get("leaks", 0)
    leaks = find_leaks(world, secrets)
    check_counts.counted["leaks"] = before
    # Three requests cannot leak: the lexical search, another user's search, and a list without names.
    assert len(leaks) >= 3 * (len(REQUESTS) - 3), leaks


def test_no_rows_are_visible_without_an_identity(world: World, secrets: dict[str, str]) -> None:
    """ "no identity means no rows"."""
    with identity.run_as(ANONYMOUS):
        models: list[type[Model]] = [*VISIBLE_FOR, Conversation, ConversationMessage, SearchRecord]
        for model in models:
            assert not model._default_manager.exists(), model


def test_searches_and_conversations_are_visible_to_their_user_only(world: World, secrets: dict[str, str]) -> None:
    HistoryUsage.objects.create(user=world.users["owner"])
    for model in (Conversation, ConversationMessage, SearchRecord, HistoryUsage):
        with identity.run_as(identity_of(Caller(world.users["owner"]))):
            assert model._default_manager.count() == 1
        with identity.run_as(identity_of(Caller(world.users["admin"]))):
            assert model._default_manager.count() == 0


def test_token_signatures_of_invisible_chunks_are_not_read(world: World, secrets: dict[str, str]) -> None:
    chunk = Chunk.objects.get(source__slug=SECRET.lower())
    for name, number in (("owner", 1), ("member", 0), ("admin", 0), ("foreigner", 0)):
        with identity.run_as(identity_of(Caller(world.users[name]))):
            assert len(token_signatures.read([chunk.pk])) == number, name
    with identity.run_as(ANONYMOUS):
        assert token_signatures.read([chunk.pk]) == {}


def test_invisible_rows_cannot_be_written(world: World, secrets: dict[str, str]) -> None:
    """Rows of a source that is not visible cannot be changed, deleted or added."""
    source, document = DataSource.objects.get(pk=secrets["source"]), Document.objects.get(pk=secrets["document"])
    with identity.run_as(identity_of(Caller(world.users["member"]), action="write")):
        assert DataSource.objects.filter(pk=source.pk).update(description="mine") == 0
        assert Document.objects.filter(pk=document.pk).update(title="mine") == 0
        assert Chunk.objects.filter(source=source)._raw_delete("default") == 0
        with assert_refused():
            IngestionJob.objects.create(source=source, chunk_size=1, chunk_overlap=0)
        with assert_refused():
            world.source("new", owner=world.users["member"])


@contextmanager
def assert_refused() -> Iterator[None]:
    with pytest.raises(DatabaseError, match="row-level security"), transaction.atomic():
        yield
