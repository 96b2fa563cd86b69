"""Access is decided when it is used: whatever way it was lost, the next request has nothing (RESOLUTION, "Access").

Every way of losing it times every place where content comes out, and answers that are on their way at that moment.
"""

import datetime
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client as InProcess
from django.utils import timezone
from rest_framework_simplejwt.tokens import AccessToken

from accounts.models import User
from orgs.access.permissions import Permission, Visibility
from orgs.api_keys import service
from orgs.models import ApiKey, Membership, Organization, Role, Team
from orgs.services import add_member
from rag.models import ConversationMessage, DataSource, Document, IngestionJob
from rag.services.access import access_watch
from rag.services.jobs import submit
from rag.services.sources import deletion
from rag.types import ChunkingOptions, Submission
from tests.support.factories import World, ingest_text
from tests.support.http import Client
from tests.support.provider_server import ProviderServer, tool_call

QUESTION = "Where do the zebras sleep?"
TEXT = "The zebras sleep in the northern stable. The zebras wake at dawn."
REFUSED = {401, 403, 404}


@dataclass(frozen=True)
class Case:
    """`reader` queries by a team within a team that the source is open to, `keeper` by a role with permissions."""

    world: World
    source: DataSource
    name: str
    job: IngestionJob

    @classmethod
    def of(cls, world: World, name: str) -> "Case":
        add_member(user=world.users["supporter"], organization=world.home)
        Role.objects.create(
            organization=world.home, name="keeper", permissions=[Permission.SOURCES_INGEST, Permission.SOURCES_MANAGE]
        )
        add_member(user=world.users["member"], organization=world.home, roles=("keeper",))
        source = world.source("library", visibility=Visibility.TEAM)
        source.grants.create(team=Team.objects.get(name="support"))
        ingest_text(source, "zebras.md", TEXT, title="Stables")
        waiting = Submission(path="zebras.md", title="Stables", text=TEXT)
        job = submit.submit_job(
            source=source, submissions=[waiting], options=ChunkingOptions(512, 50), actor=world.users["owner"]
        )
        return cls(world, source, "supporter" if name == "reader" else "member", job)

    @property
    def user(self) -> User:
        return self.world.users[self.name]

    @property
    def marks(self) -> tuple[str, ...]:
        """What stands in replies as long as there is access, and in no question."""
        return ("northern", "library", "zebras.md", str(self.source.pk))

    @property
    def membership(self) -> Membership:
        return Membership.objects.get(user=self.user, organization=self.world.home)


def leave_the_team(case: Case) -> None:
    case.membership.teams.clear()


def change_the_visibility(case: Case) -> None:
    DataSource.objects.update(visibility=Visibility.PRIVATE)


def remove_the_grant(case: Case) -> None:
    case.source.grants.all().delete()


def end_the_grant(case: Case) -> None:
    case.source.grants.update(expires_at=timezone.now() - datetime.timedelta(seconds=1))


def deactivate_the_membership(case: Case) -> None:
    Membership.objects.filter(pk=case.membership.pk).update(is_active=False)


def deactivate_the_user(case: Case) -> None:
    User.objects.filter(pk=case.user.pk).update(is_active=False)


def revoke_the_key(case: Case) -> None:
    service.revoke(ApiKey.objects.filter(user=case.user))


def close_the_organization(case: Case) -> None:
    Organization.objects.filter(pk=case.world.home.pk).update(is_active=False)


def take_the_permissions(case: Case) -> None:
    Role.objects.filter(name="keeper").update(permissions=[])


def take_the_role(case: Case) -> None:
    case.membership.roles.clear()


def delete_the_source(case: Case) -> None:
    deletion.delete_source(case.source)


FOR_EVERYBODY = (
    deactivate_the_membership, deactivate_the_user, revoke_the_key, close_the_organization, delete_the_source,
)  # fmt: skip
WAYS = {
    "reader": (leave_the_team, change_the_visibility, remove_the_grant, end_the_grant, *FOR_EVERYBODY),
    "keeper": (take_the_permissions, take_the_role, *FOR_EVERYBODY),
}
SAID = [{"role": "user", "content": QUESTION}]
# Where content comes out, in every contract; {} is filled with what an earlier answer was about (see `earlier`).
PLACES: dict[str, list[tuple[str, str, Any]]] = {
    "reader": [
        ("POST", "/api/rag/search", {"query": QUESTION}),
        ("POST", "/api/rag/search", {"query_text": QUESTION}),
        ("POST", "/functions/v1/rag-search", {"query_text": QUESTION}),
        ("POST", "/api/rag/answer", {"query_text": QUESTION}),
        ("POST", "/functions/v1/rag-answer", {"query_text": QUESTION}),
        ("POST", "/api/rag/retrieve", {"query": QUESTION}),
        ("POST", "/api/rag/retrieve", {"query": QUESTION, "dataSources": ["library"]}),
        ("POST", "/api/rag/query", {"query": QUESTION}),
        ("POST", "/api/v1/search", {"query": QUESTION}),
        ("GET", "/api/v1/search/{search}", None),
        ("POST", "/api/chat", {"messages": SAID, "useRag": True}),
        ("POST", "/api/chat", {"messages": SAID, "useRag": True, "conversationId": "{conversation}"}),
        ("POST", "/agent/respond", {"query": QUESTION}),
        ("GET", "/api/rag/sources", None),
        ("GET", "/api/rag/sources/library", None),
        ("GET", "/api/rag/sources/library/documents", None),
        ("GET", "/api/rag/sources/library/documents/{document}", None),
    ],
    "keeper": [
        ("GET", "/api/rag/ingest", None),
        ("GET", "/api/rag/ingest/{job}", None),
        ("GET", "/api/rag/ingest/{job}/documents", None),
        ("GET", "/api/rag/sources", None),
        ("GET", "/api/rag/sources/library", None),
        ("GET", "/api/rag/sources/library/documents", None),
        ("GET", "/api/rag/sources/library/documents/{document}", None),
        ("GET", "/api/rag/sources/library/access?user=member@home.example", None),
    ],
}


def headers(case: Case, way: Callable[[Case], None] | None = None) -> dict[str, str]:
    """An access token, which itself says nothing about organisations; an API key where that is what is lost."""
    if way is revoke_the_key:
        return {"X-API-Key": case.world.key(case.name).secret}
    return {"Authorization": f"Bearer {AccessToken.for_user(case.user)}"}


def earlier(case: Case, credential: dict[str, str]) -> dict[str, str]:
    """A search and a conversation from before, and what stands in the source."""
    known = {"job": str(case.job.pk), "document": str(Document.objects.get().pk)}
    if case.name != "supporter":
        return known
    search = send(("POST", "/api/v1/search", {"query": QUESTION}), credential, {}).json()
    chat = send(("POST", "/api/chat", {"messages": SAID, "useRag": True}), credential, {}).json()
    return {**known, "search": search["query_id"], "conversation": chat["data"]["conversationId"]}


def send(place: tuple[str, str, Any], credential: dict[str, str], known: dict[str, str]) -> Any:
    method, path, body = place
    text = json.dumps(body) if body else ""
    for name, value in known.items():
        path, text = path.replace(f"{{{name}}}", value), text.replace(f"{{{name}}}", value)
    return InProcess().generic(method, path, text, content_type="application/json", headers=credential)


@pytest.mark.parametrize("name", PLACES)
def test_each_place_gives_content_to_whoever_has_access(world: World, name: str) -> None:
    """Without this, what is missing below might be missing always."""
    case = Case.of(world, name)
    credential = headers(case)
    known = earlier(case, credential)
    for place in PLACES[name]:
        reply = send(place, credential, known)
        assert reply.status_code == 200, place
        assert any(mark in reply.text for mark in (*case.marks, known["job"])), place


@pytest.mark.parametrize(
    ("name", "way"), [pytest.param(name, way, id=f"{name}-{way.__name__}") for name in WAYS for way in WAYS[name]]
)
def test_what_is_lost_is_lost_with_the_next_request(world: World, name: str, way: Callable[[Case], None]) -> None:
    case = Case.of(world, name)
    credential = headers(case, way)
    known = earlier(case, credential)
    way(case)
    for place in PLACES[name]:
        reply = send(place, credential, known)
        assert reply.status_code in {200, *REFUSED}, place
        if reply.status_code == 200:
            leaked = [mark for mark in case.marks if mark in reply.text]
            assert leaked == [], place


def test_a_conversation_keeps_what_was_said_in_it_and_looks_nothing_up(
    world: World, language_model: ProviderServer
) -> None:
    """The person's own conversation stays theirs; passages that were found for it are not given out again."""
    case = Case.of(world, "reader")
    credential = headers(case)
    language_model.replies = ["In the northern stable.", "I said so."]
    chat = ("POST", "/api/chat", {"messages": SAID, "useRag": True})
    begun = send(chat, credential, {}).json()
    remove_the_grant(case)
    again = {"messages": [{"role": "user", "content": "Where?"}], "conversationId": begun["data"]["conversationId"]}
    reply = send(("POST", "/api/chat", {**again, "useRag": True}), credential, {}).json()
    assert reply["ragSources"] == []
    sent = language_model.requests[-1]["messages"]
    assert [each["content"] for each in sent] == [QUESTION, "In the northern stable.", "Where?"]
    assert ConversationMessage.objects.count() == 4


@pytest.fixture
def live(live_world: World, language_model: ProviderServer, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Case:
    """Committed, with a language model, and looked after before every event instead of once a second."""
    settings.RAG_CONFIDENCE_MEDIUM_THRESHOLD, settings.LLM_TIMEOUT = 0.1, 30.0
    monkeypatch.setattr(access_watch, "CHECK_INTERVAL_SECONDS", 0.0)
    return Case.of(live_world, "reader")


STREAMS = {
    "/api/rag/query": {"query": QUESTION, "stream": True},
    "/api/rag/answer": {"query_text": QUESTION, "stream": True},
    "/api/chat": {"messages": SAID, "useRag": True, "stream": True},
}


@pytest.mark.parametrize("path", STREAMS)
@pytest.mark.parametrize("way", [deactivate_the_user, revoke_the_key, remove_the_grant])
def test_a_stream_ends_within_a_step(
    live: Case, language_model: ProviderServer, api: Callable[..., Client], path: str, way: Callable[[Case], None]
) -> None:
    """With the contract's error as its last event, and not another word."""
    language_model.goes_on, language_model.replies = threading.Event(), [TEXT]
    client = api().with_headers(**headers(live, way))
    events = client.events(path, STREAMS[path])
    assert [next(events)[0] for _ in range(2)] == ["sources", "token"]
    way(live)
    language_model.goes_on.set()
    ((name, body),) = events
    assert name == "error"
    assert "Your access ended" in json.dumps(body)
    assert not ConversationMessage.objects.exists()


@pytest.mark.parametrize("way", [deactivate_the_user, revoke_the_key, remove_the_grant])
@pytest.mark.parametrize("calls", [1, 0], ids=["before a tool's call", "before the answer"])
def test_the_agent_ends_before_its_next_step(
    live: Case,
    language_model: ProviderServer,
    api: Callable[..., Client],
    eventually: Callable[..., object],
    way: Callable[[Case], None],
    calls: int,
) -> None:
    asked = tool_call("QdrantRetrievalTool", {"query": "zebras", "top_k": 3, "min_score": 0.0})
    language_model.replies = [*[asked] * calls, TEXT]
    language_model.stall.clear()
    client = api().with_headers(**headers(live, way))
    with ThreadPoolExecutor(1) as pool:
        reply = pool.submit(client.post, "/agent/respond", {"query": QUESTION})
        eventually(lambda: language_model.requests or reply.done())
        way(live)
        language_model.stall.set()
        answered = reply.result(20)
    assert (answered.status, answered.body["error"]["type"]) == (403, "FORBIDDEN")
    assert "northern" not in str(answered.body)
    assert len(language_model.requests) == 1
