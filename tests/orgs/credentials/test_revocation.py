"""Lost access takes effect with the next request (shared rules, "Access").

Combines every way of losing access with every request that returns content.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client as InProcess

from rag.models import ConversationMessage, Document
from tests.orgs.credentials.access_cases import LOSSES, MESSAGES, QUESTION, AccessCase, headers, remove_the_grant
from tests.support.factories import World
from tests.support.servers.provider_server import ProviderServer

REFUSED = {401, 403, 404}
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
    """Users keep their own conversations. But neither passages that were found for them are returned again, nor is a
    reply that used these shown to the language model, which could repeat it."""
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
    assert [message["content"] for message in sent] == [QUESTION, "Where?"]
    assert ConversationMessage.objects.count() == 4
