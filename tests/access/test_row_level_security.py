"""Row-level security (RLS): it agrees with the oracle in random worlds, and holds without the queryset filters."""

import dataclasses
import json
import os
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from django.db import DatabaseError, DataError, connection, transaction
from django.db.models import Model, Value
from django.test import Client as Browser
from hypothesis import Phase, given, settings
from rest_framework_simplejwt.tokens import AccessToken

from orgs.access.caller import Caller
from orgs.models import Organization
from rag.models import Action, Chunk, DataSource, Document, IngestionJob
from rag.models.content.pgvector_tables import Embedding384
from rag.models.ingestion.jobs import IngestionDocumentQuerySet, JobContentQuerySet
from rag.models.search.conversations import Conversation, ConversationMessage
from rag.models.search.history import HistoryUsage, SearchRecord
from rag.models.sources import DataSourceQuerySet, QueryableSources, SourceContentQuerySet
from ragsite.postgres import identity, logins
from ragsite.postgres.identity import NOBODY, Identity
from tests.access import oracle, proof
from tests.access.injection import web_process
from tests.access.test_visible_to import rolled_back
from tests.access.worlds import add_content, build, worlds
from tests.support.factories import World, ingest_text

# `make prove` sets a larger number.
WORLDS = int(os.environ.get("PROVE_WORLDS", "40"))
# The actions that make a table's rows visible under RLS; any one of them is sufficient.
VISIBLE_FOR: dict[type[Model], tuple[str, ...]] = {
    DataSource: ("view",),
    Document: ("view",),
    Chunk: ("query",),
    Embedding384: ("query",),
    IngestionJob: ("ingest", "manage"),
}


def identity_of(caller: Caller, **changes: Any) -> Identity:
    """The caller's database identity, as authentication sets it; NOBODY for anonymous callers."""
    return dataclasses.replace(caller.database_identity, **changes)


@pytest.mark.django_db
@given(world=worlds())
@settings(max_examples=WORLDS, deadline=None, phases=set(Phase) - {Phase.explain})
def test_queryset_policy_and_oracle_agree(world: oracle.World) -> None:
    """For every user, key, source and action."""
    with rolled_back():
        rows = build(world)
        for person, key, caller in rows.callers():
            for action in Action:
                by_oracle = rows.expected(person, key, action.value)
                by_queryset = set(DataSource.objects.visible_to(caller, action).values_list("pk", flat=True))
                with identity.run_as(identity_of(caller)):
                    by_policy = set(visible_by_policy(action.value))
                assert by_queryset == by_oracle == by_policy, (person, key, action)
                proof.count("decisions on which queryset, policy and oracle agree", len(world.sources))
            compact = DataSource.objects.queryable_by(caller)
            listed = [*compact.public.values_list("pk", flat=True), *compact.listed.values_list("pk", flat=True)]
            assert sorted(listed) == sorted(rows.expected(person, key, "query")), (person, key)
        proof.count("worlds")


@pytest.mark.django_db
@given(world=worlds())
@settings(max_examples=WORLDS // 2, deadline=None, phases=set(Phase) - {Phase.shrink, Phase.explain})
def test_unfiltered_tables_return_only_permitted_rows(world: oracle.World) -> None:
    """Without any filter, a table returns exactly the rows that the rule allows."""
    with rolled_back():
        rows = build(world)
        add_content(DataSource.objects.all())
        for person, key, caller in rows.callers():
            with identity.run_as(identity_of(caller)):
                for model, actions in VISIBLE_FOR.items():
                    field = "pk" if model is DataSource else "source"
                    shown = set(model._default_manager.values_list(field, flat=True))
                    expected = set[uuid.UUID]().union(*(rows.expected(person, key, action) for action in actions))
                    assert shown == expected, (person, key, model)
                    proof.count("tables read without a filter")


def visible_by_policy(action: str) -> list[uuid.UUID]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT rag_visible_sources(%s)", [action])
        return list(cursor.fetchone()[0])


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
            proof.count("requests with one access layer only")
            yield name, method, path, reply.content.decode()


def find_leaks(world: World, secrets: dict[str, str]) -> list[str]:
    """The requests whose answers contain a part of the secret."""
    leaks = []
    for name, method, path, answer in send_requests(world, secrets):
        text = answer.lower()
        if SECRET.lower() in text or "cellar" in text or secrets["document"] in text:
            leaks.append(f"{name}: {method} {path}: {answer[:300]}")
    proof.count("leaks", len(leaks))
    return leaks


def all_sources() -> QueryableSources:
    return QueryableSources(
        frozenset(Organization.objects.values_list("pk", flat=True)), DataSource.objects.exclude(visibility="public")
    )


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
    before = proof.counted.get("leaks", 0)
    leaks = find_leaks(world, secrets)
    proof.counted["leaks"] = before
    # Three requests cannot leak: the lexical search, another user's search, and a list without names.
    assert len(leaks) >= 3 * (len(REQUESTS) - 3), leaks


def test_no_rows_are_visible_without_an_identity(world: World, secrets: dict[str, str]) -> None:
    """ "no identity means no rows"."""
    with identity.run_as(NOBODY):
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


@pytest.mark.django_db(transaction=True)
def test_a_reused_connection_keeps_no_identity(live_world: World) -> None:
    """Eight threads keep a connection each, like a web process, and alternate between identities, with and without
    transactions."""
    for name in ("member", "editor", "foreigner"):
        home = live_world.abroad if name == "foreigner" else live_world.home
        live_world.source(f"of-{name}", visibility="personal", owner=live_world.users[name], organization=home)
    expected: dict[Identity | None, set[str]] = {NOBODY: set()}
    for name in ("member", "foreigner"):
        expected[identity_of(Caller(live_world.users[name]))] = {f"of-{name}"}
    # The threads start as NOBODY, which sets no identity: one that an earlier request left behind would be visible.
    start = threading.Barrier(8)

    def requests(number: int) -> list[tuple[Any, set[str]]]:
        start.wait()
        wrong = []
        try:
            for step in range(40):
                current = list(expected)[(step * (number + 1)) % len(expected)]
                with identity.run_as(current):  # type: ignore[arg-type]
                    if step % 3 == 0:
                        with transaction.atomic():
                            slugs = set(DataSource.objects.values_list("slug", flat=True))
                    elif step % 3 == 1:
                        with suppress(DataError), transaction.atomic():
                            slugs = set(DataSource.objects.values_list("slug", flat=True))
                            DataSource.objects.annotate(broken=Value(1) / 0).first()
                    else:
                        slugs = set(DataSource.objects.values_list("slug", flat=True))
                if slugs != expected[current]:
                    wrong.append((current, slugs))
                with identity.run_as(NOBODY), connection.cursor() as cursor:
                    cursor.execute("SELECT current_user, current_setting('rag.identity', true)")
                    role, signed = cursor.fetchone()
                    if role != NOBODY.role or signed:
                        wrong.append((role, signed))
        finally:
            logins.close_all()
        return wrong

    with web_process(), ThreadPoolExecutor(8) as pool:
        assert [mistake for wrong in pool.map(requests, range(8)) for mistake in wrong] == []
    proof.count("interleaved transactions", 8 * 40 * 2)
