"""Lost access takes effect with the next request (shared rules, "Access").

Combines every way of losing access with every request that returns content, and tests streams that are running.
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
from orgs.api_keys import key_lifecycle
from orgs.creation import add_member
from orgs.models import ApiKey, Membership, Organization, Role, Team
from rag.models import ConversationMessage, DataSource, Document, IngestionJob
from rag.services.access import access_rechecks
from rag.services.jobs import submit
from rag.services.sources import deletion
from rag.types import ChunkingOptions, Submission
from tests.orgs.scim.conftest import connect
from tests.support.factories import World, ingest_text
from tests.support.http import Client
from tests.support.servers.provider_server import ProviderServer, tool_call

QUESTION = "Where do the zebras sleep?"
TEXT = "The zebras sleep in the northern stable. The zebras wake at dawn."
REFUSED = {401, 403, 404}


@dataclass(frozen=True)
class AccessCase:
    """A user with access: a `reader` queries as a member of a team, a `manager` has a role with permissions."""

    world: World
    source: DataSource
    user_name: str
    job: IngestionJob

    @classmethod
    def create(cls, world: World, name: str) -> "AccessCase":
        add_member(user=world.users["supporter"], organization=world.home)
        Role.objects.create(
            organization=world.home, name="manager", permissions=[Permission.SOURCES_INGEST, Permission.SOURCES_MANAGE]
        )
        add_member(user=world.users["member"], organization=world.home, roles=("manager",))
        source = world.source("library", visibility=Visibility.TEAM)
        source.grants.create(team=Team.objects.get(name="support"))
        ingest_text(source, "zebras.md", TEXT, title="Stables")
        submission = Submission(path="zebras.md", title="Stables", text=TEXT)
        job = submit.submit_job(
            source=source, submissions=[submission], options=ChunkingOptions(512, 50), actor=world.users["owner"]
        )
        return cls(world, source, "supporter" if name == "reader" else "member", job)

    @property
    def user(self) -> User:
        return self.world.users[self.user_name]

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts that replies contain only with access. No question contains them."""
        return ("northern", "library", "zebras.md", str(self.source.pk))

    @property
    def membership(self) -> Membership:
        return Membership.objects.get(user=self.user, organization=self.world.home)


def leave_the_team(case: AccessCase) -> None:
    case.membership.teams.clear()


def change_the_visibility(case: AccessCase) -> None:
    DataSource.objects.update(visibility=Visibility.PRIVATE)


def remove_the_grant(case: AccessCase) -> None:
    case.source.grants.all().delete()


def expire_the_grant(case: AccessCase) -> None:
    case.source.grants.update(expires_at=timezone.now() - datetime.timedelta(seconds=1))


def deactivate_the_membership(case: AccessCase) -> None:
    Membership.objects.filter(pk=case.membership.pk).update(is_active=False)


def deactivate_the_user(case: AccessCase) -> None:
    User.objects.filter(pk=case.user.pk).update(is_active=False)


def deactivate_by_directory(case: AccessCase) -> None:
    """As an identity provider does with SCIM when somebody leaves."""
    directory = connect(case.world.home, "home.example")
    operation = {"op": "replace", "path": "active", "value": False}
    assert directory.patch(f"/Users/{case.membership.pk}", operation).status_code == 200


def revoke_the_key(case: AccessCase) -> None:
    key_lifecycle.revoke(ApiKey.objects.filter(user=case.user))


def close_the_organization(case: AccessCase) -> None:
    Organization.objects.filter(pk=case.world.home.pk).update(is_active=False)


def remove_the_permissions(case: AccessCase) -> None:
    Role.objects.filter(name="manager").update(permissions=[])


def remove_the_role(case: AccessCase) -> None:
    case.membership.roles.clear()


def delete_the_source(case: AccessCase) -> None:
    deletion.delete_source(case.source)


COMMON_LOSSES = (
    deactivate_the_membership, deactivate_the_user, revoke_the_key, close_the_organization, delete_the_source,
)  # fmt: skip
LOSSES = {
    "reader": (leave_the_team, change_the_visibility, remove_the_grant, expire_the_grant, *COMMON_LOSSES),
    "manager": (remove_the_permissions, remove_the_role, *COMMON_LOSSES),
}
MESSAGES = [{"role": "user", "content": QUESTION}]
# The requests of every contract that return content. {…} stands for an id (see `ids_of`).
REQUESTS: dict[str, list[tuple[str, str, Any]]] = {
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
        ("POST", "/api/chat", {"messages": MESSAGES, "useRag": True}),
        ("POST", "/api/chat", {"messages": MESSAGES, "useRag": True, "conversationId": "{conversation}"}),
        ("POST", "/agent/respond", {"query": QUESTION}),
        ("GET", "/api/rag/sources", None),
        ("GET", "/api/rag/sources/library", None),
        ("GET", "/api/rag/sources/library/documents", None),
        ("GET", "/api/rag/sources/library/documents/{document}", None),
    ],
    "manager": [
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


def headers(case: AccessCase, lose_access: Callable[[AccessCase], None] | None = None) -> dict[str, str]:
    """The headers with the case's credential: an API key if it is going to be revoked, else an access token."""
    if lose_access is revoke_the_key:
        return {"X-API-Key": case.world.key(case.user_name).secret}
    return {"Authorization": f"Bearer {AccessToken.for_user(case.user)}"}


def ids_of(case: AccessCase, credential: dict[str, str]) -> dict[str, str]:
    """The ids of the job and document and, for a reader, of a search and a conversation that take place now."""
    ids = {"job": str(case.job.pk), "document": str(Document.objects.get().pk)}
    if case.user_name != "supporter":
        return ids
    search = send(("POST", "/api/v1/search", {"query": QUESTION}), credential, {}).json()
    chat = send(("POST", "/api/chat", {"messages": MESSAGES, "useRag": True}), credential, {}).json()
    return {**ids, "search": search["query_id"], "conversation": chat["data"]["conversationId"]}


def send(request: tuple[str, str, Any], credential: dict[str, str], ids: dict[str, str]) -> Any:
    method, path, body = request
    text = json.dumps(body) if body else ""
    for name, value in ids.items():
        path, text = path.replace(f"{{{name}}}", value), text.replace(f"{{{name}}}", value)
    return InProcess().generic(method, path, text, content_type="application/json", headers=credential)


@pytest.mark.parametrize("name", REQUESTS)
def test_each_request_returns_content_with_access(world: World, name: str) -> None:
    """Shows that the requests of the next test return content as long as there is access."""
    case = AccessCase.create(world, name)
    credential = headers(case)
    ids = ids_of(case, credential)
    for request in REQUESTS[name]:
        reply = send(request, credential, ids)
        assert reply.status_code == 200, request
        assert any(marker in reply.text for marker in (*case.markers, ids["job"])), request


@pytest.mark.parametrize(
    ("name", "lose_access"),
    [pytest.param(name, loss, id=f"{name}-{loss.__name__}") for name, losses in LOSSES.items() for loss in losses],
)
def test_lost_access_ends_with_the_next_request(
    world: World, name: str, lose_access: Callable[[AccessCase], None]
) -> None:
    case = AccessCase.create(world, name)
    credential = headers(case, lose_access)
    ids = ids_of(case, credential)
    lose_access(case)
    for request in REQUESTS[name]:
        reply = send(request, credential, ids)
        assert reply.status_code in {200, *REFUSED}, request
        if reply.status_code == 200:
            leaked = [marker for marker in case.markers if marker in reply.text]
            assert leaked == [], request


def test_a_conversation_keeps_its_messages_but_finds_no_passages(world: World, language_model: ProviderServer) -> None:
    """Users keep their own conversations. Passages that were found for them are not returned again."""
    case = AccessCase.create(world, "reader")
    credential = headers(case)
    language_model.replies = ["In the northern stable.", "I said so."]
    chat = ("POST", "/api/chat", {"messages": MESSAGES, "useRag": True})
    first = send(chat, credential, {}).json()
    remove_the_grant(case)
    follow_up = {"messages": [{"role": "user", "content": "Where?"}], "conversationId": first["data"]["conversationId"]}
    reply = send(("POST", "/api/chat", {**follow_up, "useRag": True}), credential, {}).json()
    assert reply["ragSources"] == []
    sent = language_model.requests[-1]["messages"]
    assert [message["content"] for message in sent] == [QUESTION, "In the northern stable.", "Where?"]
    assert ConversationMessage.objects.count() == 4


@pytest.fixture
def live(
    live_world: World, language_model: ProviderServer, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> AccessCase:
    """A committed case with a language model. Access is checked before every event instead of once a second."""
    settings.RAG_CONFIDENCE_MEDIUM_THRESHOLD, settings.LLM_TIMEOUT = 0.1, 30.0
    monkeypatch.setattr(access_rechecks, "CHECK_INTERVAL_SECONDS", 0.0)
    return AccessCase.create(live_world, "reader")


STREAMS = {
    "/api/rag/query": {"query": QUESTION, "stream": True},
    "/api/rag/answer": {"query_text": QUESTION, "stream": True},
    "/api/chat": {"messages": MESSAGES, "useRag": True, "stream": True},
}


@pytest.mark.parametrize("path", STREAMS)
@pytest.mark.parametrize(
    "lose_access", [deactivate_the_user, deactivate_by_directory, revoke_the_key, remove_the_grant]
)
def test_a_stream_ends_when_access_is_lost(
    live: AccessCase,
    language_model: ProviderServer,
    api: Callable[..., Client],
    path: str,
    lose_access: Callable[[AccessCase], None],
) -> None:
    """The last event is the contract's error, and no further token is sent."""
    language_model.may_continue, language_model.replies = threading.Event(), [TEXT]
    client = api().with_headers(**headers(live, lose_access))
    events = client.events(path, STREAMS[path])
    assert [next(events)[0] for _ in range(2)] == ["sources", "token"]
    lose_access(live)
    language_model.may_continue.set()
    ((name, body),) = events
    assert name == "error"
    assert "Your access ended" in json.dumps(body)
    assert not ConversationMessage.objects.exists()


@pytest.mark.parametrize("lose_access", [deactivate_the_user, revoke_the_key, remove_the_grant])
@pytest.mark.parametrize("calls", [1, 0], ids=["before a tool call", "before the answer"])
def test_the_agent_stops_before_its_next_step(
    live: AccessCase,
    language_model: ProviderServer,
    api: Callable[..., Client],
    eventually: Callable[..., object],
    lose_access: Callable[[AccessCase], None],
    calls: int,
) -> None:
    call = tool_call("QdrantRetrievalTool", {"query": "zebras", "top_k": 3, "min_score": 0.0})
    language_model.replies = [*[call] * calls, TEXT]
    language_model.stall.clear()
    client = api().with_headers(**headers(live, lose_access))
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(client.post, "/agent/respond", {"query": QUESTION})
        eventually(lambda: language_model.requests or future.done())
        lose_access(live)
        language_model.stall.set()
        reply = future.result(20)
    assert (reply.status, reply.body["error"]["type"]) == (403, "FORBIDDEN")
    assert "northern" not in str(reply.body)
    assert len(language_model.requests) == 1
