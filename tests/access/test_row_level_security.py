"""The second fence: PostgreSQL's policies against the plain statement of the rule, and alone, without the first."""

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
from django.db import DatabaseError, DataError, connection, connections, transaction
from django.db.models import Model, Value
from django.test import Client as Browser
from hypothesis import Phase, given, settings
from rest_framework_simplejwt.tokens import AccessToken

from orgs.access.caller import Caller
from rag.models import Action, Chunk, DataSource, Document, IngestionJob
from rag.models.content.pgvector_tables import Embedding384
from rag.models.ingestion.jobs import IngestionDocumentQuerySet, JobContentQuerySet
from rag.models.search.conversations import Conversation, ConversationMessage
from rag.models.search.history import SearchRecord
from rag.models.sources import DataSourceQuerySet, SourceContentQuerySet
from ragsite.postgres import identity
from ragsite.postgres.identity import NOBODY, Identity
from tests.access import oracle, proof
from tests.access.test_visible_to import rolled_back
from tests.access.worlds import build, fill, worlds
from tests.support.factories import World, ingest_text

# `make prove` tries more.
WORLDS = int(os.environ.get("PROVE_WORLDS", "40"))
# What row-level security shows of each table, as actions of the rule: any of them will do.
SHOWN: dict[type[Model], tuple[str, ...]] = {
    DataSource: ("view",),
    Document: ("view",),
    Chunk: ("query",),
    Embedding384: ("query",),
    IngestionJob: ("ingest", "manage"),
}


def as_reader(caller: Caller, **said: Any) -> Identity:
    """As authentication states them; somebody anonymous is nobody."""
    return dataclasses.replace(caller.database_identity, **said)


@pytest.mark.django_db
@given(world=worlds())
@settings(max_examples=WORLDS, deadline=None, phases=set(Phase) - {Phase.explain})
def test_three_statements_of_the_rule_agree(world: oracle.World) -> None:
    """The queryset, the policies' own function and tests/access/oracle.py: every user, source and action."""
    with rolled_back():
        rows = build(world)
        for person, key, caller in rows.callers():
            for action in Action:
                stated = rows.expected(person, key, action.value)
                by_queryset = set(DataSource.objects.visible_to(caller, action).values_list("pk", flat=True))
                with identity.run_as(as_reader(caller)):
                    by_policy = set(open_sources(action.value))
                assert by_queryset == stated == by_policy, (person, key, action)
                proof.count("decisions on which queryset, policy and oracle agree", len(world.sources))
        proof.count("worlds")


@pytest.mark.django_db
@given(world=worlds())
@settings(max_examples=WORLDS // 2, deadline=None, phases=set(Phase) - {Phase.shrink, Phase.explain})
def test_rows_show_themselves_to_whom_they_are_open(world: oracle.World) -> None:
    """Tables read without any filter: what comes is what the rule opens, and nothing without an identity."""
    with rolled_back():
        rows = build(world)
        fill(DataSource.objects.all())
        for person, key, caller in rows.callers():
            with identity.run_as(as_reader(caller)):
                for model, actions in SHOWN.items():
                    field = "pk" if model is DataSource else "source"
                    shown = set(model._default_manager.values_list(field, flat=True))
                    stated = set[uuid.UUID]().union(*(rows.expected(person, key, action) for action in actions))
                    assert shown == stated, (person, key, model)
                    proof.count("tables read without a filter")


def open_sources(action: str) -> list[uuid.UUID]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT rag_visible_sources(%s)", [action])
        return list(cursor.fetchone()[0])


SECRET = "Nightshade"
# Without a word of what is secret: answers name the parts of a question that nothing was found about.
QUESTION = "In which place do they keep the plant?"
# Every operation that shows or finds anything, with what a curious client would send. {source}, {job}, {document},
# {search}: of what is secret.
CURIOUS: list[tuple[str, str, Any]] = [
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
    """A source that only its owner may query, full of a word that nobody else may ever read."""
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
    named = {"source": source, "document": document, "job": job, "search": search}
    return {name: str(row.pk) for name, row in named.items()}


def everybody_asks(world: World, secrets: dict[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """Who, method, path, answer: of all who may not read what is secret."""
    for name in ("member", "supporter", "foreigner"):
        token = AccessToken.for_user(world.users[name])
        browser = Browser(headers={"authorization": f"Bearer {token}"}, raise_request_exception=False)
        for method, path, body in CURIOUS:
            for key, value in secrets.items():
                path = path.replace(f"{{{key}}}", value)
                body = {**body, "dataSources": [value]} if body and key == "source" and "dataSources" in body else body
            reply = browser.generic(method, path, _json(body), content_type="application/json")
            proof.count("requests with one fence alone")
            yield name, method, path, reply.content.decode()


def leaks(world: World, secrets: dict[str, str]) -> list[str]:
    """Requests whose answers hold what is secret, beyond the question that was put."""
    found = []
    for name, method, path, answer in everybody_asks(world, secrets):
        said = answer.lower()
        if SECRET.lower() in said or "cellar" in said or secrets["document"] in said:
            found.append(f"{name}: {method} {path}: {answer[:300]}")
    proof.count("leaks", len(found))
    return found


def test_without_the_first_fence_nothing_leaks(
    world: World, secrets: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every queryset forgets its filter; the policies hold."""
    monkeypatch.setattr(DataSourceQuerySet, "visible_to", lambda self, user, action: self.filter(deleted_at=None))
    for each in (SourceContentQuerySet, JobContentQuerySet, IngestionDocumentQuerySet):
        monkeypatch.setattr(each, "visible_to", lambda self, user, action: self.all())
    assert leaks(world, secrets) == []
    assert DataSource.objects.filter(description="mine").count() == 0


def test_without_the_second_fence_nothing_leaks(
    world: World, secrets: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The policies let everything through; the querysets hold."""
    monkeypatch.setattr(Caller, "database_identity", identity.WORKER)
    assert leaks(world, secrets) == []
    assert DataSource.objects.filter(description="mine").count() == 0


def test_without_either_there_would_be_leaks(
    world: World, secrets: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the two above cannot pass by asking for nothing."""
    monkeypatch.setattr(Caller, "database_identity", identity.WORKER)
    monkeypatch.setattr(DataSourceQuerySet, "visible_to", lambda self, user, action: self.filter(deleted_at=None))
    for each in (SourceContentQuerySet, JobContentQuerySet, IngestionDocumentQuerySet):
        monkeypatch.setattr(each, "visible_to", lambda self, user, action: self.all())
    before = proof.counted.get("leaks", 0)
    found = leaks(world, secrets)
    proof.counted["leaks"] = before
    # Not these: one by words alone, somebody's own search, and a list that names nothing.
    assert len(found) >= 3 * (len(CURIOUS) - 3), found


def _json(body: Any) -> bytes:
    return json.dumps(body).encode() if body is not None else b""


def test_a_request_without_a_credential_is_nobody(world: World, secrets: dict[str, str]) -> None:
    """ "no identity means no rows"."""
    with identity.run_as(NOBODY):
        everything: list[type[Model]] = [*SHOWN, Conversation, ConversationMessage, SearchRecord]
        for model in everything:
            assert not model._default_manager.exists(), model


def test_a_search_and_a_conversation_show_themselves_to_their_user_alone(world: World, secrets: dict[str, str]) -> None:
    for model in (Conversation, ConversationMessage, SearchRecord):
        with identity.run_as(as_reader(Caller(world.users["owner"]))):
            assert model._default_manager.count() == 1
        with identity.run_as(as_reader(Caller(world.users["admin"]))):
            assert model._default_manager.count() == 0


def test_nobody_writes_where_they_may_not(world: World, secrets: dict[str, str]) -> None:
    """What cannot be seen cannot be changed, and nothing is put into it."""
    source, document = DataSource.objects.get(pk=secrets["source"]), Document.objects.get(pk=secrets["document"])
    with identity.run_as(as_reader(Caller(world.users["member"]), action="write")):
        assert DataSource.objects.filter(pk=source.pk).update(description="mine") == 0
        assert Document.objects.filter(pk=document.pk).update(title="mine") == 0
        assert Chunk.objects.filter(source=source)._raw_delete("default") == 0
        with refused():
            IngestionJob.objects.create(source=source, chunk_size=1, chunk_overlap=0)
        with refused():
            world.source("new", owner=world.users["member"])


@contextmanager
def refused() -> Iterator[None]:
    with pytest.raises(DatabaseError, match="row-level security"), transaction.atomic():
        yield


@pytest.mark.django_db(transaction=True)
def test_a_connection_carries_nobodys_identity_into_the_next_request(
    live_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight threads with a kept connection each, as those of a web process, and the identities taken in turns, in and
    outside of transactions."""
    for name in ("member", "editor", "foreigner"):
        home = live_world.abroad if name == "foreigner" else live_world.home
        live_world.source(f"of-{name}", visibility="personal", owner=live_world.users[name], organization=home)
    expected: dict[Identity | None, set[str]] = {NOBODY: set()}
    for name in ("member", "foreigner"):
        expected[as_reader(Caller(live_world.users[name]))] = {f"of-{name}"}
    # The threads' connections are nobody's, and nothing is stated for nobody: what an earlier request left would show.
    monkeypatch.setattr(identity, "_of_process", NOBODY)
    start = threading.Barrier(8)

    def requests(number: int) -> list[tuple[Any, set[str]]]:
        start.wait()
        wrong = []
        try:
            for turn in range(40):
                who = list(expected)[(turn * (number + 1)) % len(expected)]
                with identity.run_as(who):  # type: ignore[arg-type]
                    if turn % 3 == 0:
                        with transaction.atomic():
                            found = set(DataSource.objects.values_list("slug", flat=True))
                    elif turn % 3 == 1:
                        with suppress(DataError), transaction.atomic():
                            found = set(DataSource.objects.values_list("slug", flat=True))
                            DataSource.objects.annotate(broken=Value(1) / 0).first()
                    else:
                        found = set(DataSource.objects.values_list("slug", flat=True))
                if found != expected[who]:
                    wrong.append((who, found))
                with identity.run_as(NOBODY), connection.cursor() as cursor:
                    cursor.execute("SELECT current_user, current_setting('rag.user', true)")
                    role, user = cursor.fetchone()
                    if role != NOBODY.role or user:
                        wrong.append((role, user))
        finally:
            connections.close_all()
        return wrong

    with ThreadPoolExecutor(8) as pool:
        assert [each for wrong in pool.map(requests, range(8)) for each in wrong] == []
    proof.count("interleaved transactions", 8 * 40 * 2)
