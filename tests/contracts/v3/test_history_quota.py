"""What a user's history may take: every bound is exceeded through the API, and no question is refused because of it."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db.models import Sum
from django.test import Client as Browser
from django.urls import reverse
from pytest_django import Settings

from rag.models import Conversation, ConversationMessage, HistoryUsage, SearchRecord, Usage
from rag.services.maintenance.retention.delete_old_history import delete_expired_history
from rag.services.queries.history import history_writer
from tests.contracts.v3.helpers import Api, chat
from tests.support.factories import World
from tests.support.http import Client
from tests.support.servers.provider_server import ProviderServer

# As many as tests keep sessions of the database: a new session takes longer than the request.
SIMULTANEOUS = 8


def say(client: Client, text: str, **fields: Any) -> str:
    reply = chat(client, text, **fields)
    assert reply.status == 200, reply
    conversation: str = reply.body["data"]["conversationId"]
    return conversation


def search(client: Client, text: str = "Where are the bicycles?") -> str:
    reply = client.post("/api/v1/search", {"query": text})
    assert reply.status == 200, reply
    query_id: str = reply.body["query_id"]
    return query_id


def contents(**conversation: Any) -> list[str]:
    messages = ConversationMessage.objects.filter(**conversation).order_by("conversation_id", "position")
    return list(messages.values_list("content", flat=True))


def assert_counted(world: World, name: str = "member") -> int:
    """The counter equals what is stored. Returns it."""
    user = world.users[name]
    counted = HistoryUsage.objects.get(user=user)
    assert counted.searches == SearchRecord.objects.filter(user=user).count()
    before = (counted.bytes, counted.searches)
    history_writer.recount(user)
    counted.refresh_from_db()
    assert before == (counted.bytes, counted.searches)
    return counted.bytes


def test_a_long_message_is_answered_and_stored_shortened(
    member: Client, live_world: World, language_model: ProviderServer
) -> None:
    language_model.replies = ["Yes.", "No.", "Hm."]
    text = "é" * 100_000
    conversation = say(member, text)
    assert language_model.requests[0]["messages"][-1]["content"] == text, "the whole message is answered"
    stored, answer = contents(conversation=conversation)
    assert (len(stored), stored[-3:], answer) == (history_writer.MAX_MESSAGE_CHARACTERS, "[…]", "Yes.")
    history = [("user", text), ("assistant", "Yes."), ("user", "And?")]
    body = {"messages": [{"role": role, "content": content} for role, content in history]}
    assert member.post("/api/chat", {**body, "conversationId": conversation}).status == 200
    assert [len(content) for content in contents(conversation=conversation)] == [32_000, 4, 4, 3], "nothing twice"
    assert language_model.requests[1]["messages"][0]["content"] == text, "what the request repeats is not shortened"
    assert assert_counted(live_world) < 2 * 32_000 + 1_000


def test_one_request_of_the_maximum_size_stays_within_the_bound(
    member: Client, live_world: World, language_model: ProviderServer, settings: Settings
) -> None:
    settings.RAG_MAX_HISTORY_BYTES = 1_000_000
    language_model.replies = ["Yes."]
    roles = ("user", "assistant")
    messages = [{"role": roles[turn % 2], "content": f"{turn} " + "x" * 99_000} for turn in range(199)]
    reply = member.post("/api/chat", {"messages": messages})
    assert (reply.status, reply.body["data"]["message"]) == (200, "Yes.")
    stored = contents()
    assert (stored[-1], stored[-2][:4]) == ("Yes.", "198 "), "the newest messages are stored"
    assert 900_000 < assert_counted(live_world) <= 1_000_000


def test_a_conversation_keeps_its_newest_messages(
    member: Client, live_world: World, language_model: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_writer, "MAX_CONVERSATION_MESSAGES", 4)
    language_model.replies = ["A", "B", "C", "D"]
    conversation = say(member, "1")
    for text in ("2", "3"):
        assert say(member, text, conversationId=conversation) == conversation
    assert contents(conversation=conversation) == ["2", "B", "3", "C"]
    say(member, "4", conversationId=conversation)
    assert contents(conversation=conversation) == ["3", "C", "4", "D"]
    assert_counted(live_world)


def test_the_conversations_that_ended_longest_ago_are_deleted_first(
    member: Client, live_world: World, language_model: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_writer, "MAX_CONVERSATIONS", 2)
    language_model.replies = ["A", "B", "C", "D", "E"]
    first, second = say(member, "1"), say(member, "2")
    say(member, "3", conversationId=first)
    third = say(member, "4")
    assert {str(pk) for pk in Conversation.objects.values_list("pk", flat=True)} == {first, third}
    assert chat(member, "5", conversationId=second).status == 404
    assert_counted(live_world)


def test_the_oldest_searches_are_deleted_first(
    member: Client, live_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_writer, "MAX_SEARCHES", 3)
    query_ids = [search(member) for _ in range(5)]
    assert [member.get(f"/api/v1/search/{query_id}").status for query_id in query_ids] == [404, 404, 200, 200, 200]
    assert_counted(live_world)


def test_bytes_are_bounded_and_the_oldest_rows_go_first(
    member: Client, live_world: World, language_model: ProviderServer, settings: Settings
) -> None:
    settings.RAG_MAX_HISTORY_BYTES = 3_000
    language_model.replies = ["."] * 6
    query_id = search(member)
    conversations = [say(member, str(number) * 900) for number in range(4)]
    assert [text[0] for text in contents()] == ["2", ".", "3", "."]
    assert assert_counted(live_world) <= 3_000
    assert chat(member, "more", conversationId=conversations[0]).status == 404
    # A conversation alone loses its oldest messages.
    for text in ("4", "5"):
        say(member, text * 900, conversationId=conversations[-1])
    assert [text[0] for text in contents(conversation=conversations[-1])][-4:] == ["4", ".", "5", "."]
    assert assert_counted(live_world) <= 3_000
    assert member.get(f"/api/v1/search/{query_id}").status in (200, 404)


def test_the_quota_of_the_organization_is_not_exceeded_by_histories(
    member: Client, api: Api, live_world: World, language_model: ProviderServer
) -> None:
    """An organisation that is full stores no further history: new turns replace old ones, or are not stored."""
    language_model.replies = ["."] * 9
    editor = api("editor")
    say(editor, "e" * 500)
    documents, histories = (model.objects.aggregate(sum=Sum("bytes"))["sum"] for model in (Usage, HistoryUsage))
    live_world.home.max_bytes = documents + histories + 1_500
    live_world.home.save()
    conversation = say(member, "1" * 1_000)
    assert assert_counted(live_world) == 1_201
    for text in ("2", "3"):
        assert say(member, text * 1_000, conversationId=conversation) == conversation
    assert [text[0] for text in contents(conversation=conversation)] == ["3", "."]
    say(editor, "f" * 1_500)
    assert [text[0] for text in contents(conversation__user=live_world.users["editor"])] == ["e", "."], "no room"
    say(editor, "g" * 550)
    assert [text[0] for text in contents(conversation__user=live_world.users["editor"])] == ["g", "."]
    assert sum(model.objects.aggregate(sum=Sum("bytes"))["sum"] for model in (Usage, HistoryUsage)) <= (
        live_world.home.max_bytes
    )
    live_world.home.max_bytes = 1
    live_world.home.save()
    newcomer = api("supporter")
    unstored = say(newcomer, "Hello")
    assert say(newcomer, "Again", conversationId=unstored) == unstored, (
        "the conversation continues without its messages"
    )
    assert contents(conversation=unstored) == []
    assert newcomer.get(f"/api/v1/search/{search(newcomer)}").status == 404
    assert HistoryUsage.objects.get(user=live_world.users["supporter"]).bytes == 0


@pytest.mark.parametrize("scope", ["user", "organization"])
def test_simultaneous_requests_exceed_no_bound_and_lose_no_turn(
    member: Client, api: Api, live_world: World, settings: Settings, monkeypatch: pytest.MonkeyPatch, scope: str
) -> None:
    clients = [member] if scope == "user" else [member, api("editor"), api("admin"), api("supporter")]
    if scope == "user":
        monkeypatch.setattr(history_writer, "MAX_CONVERSATIONS", 3)
        monkeypatch.setattr(history_writer, "MAX_SEARCHES", 3)
        settings.RAG_MAX_HISTORY_BYTES = 20_000
    else:
        live_world.home.max_bytes = Usage.objects.get(pk=live_world.home.pk).bytes + 5_000
        live_world.home.save()

    def send(number: int) -> None:
        client = clients[number % len(clients)]
        say(client, "Where are the bicycles parked? " + "x" * 300, useRag=True)
        search(client)

    with ThreadPoolExecutor(SIMULTANEOUS) as pool:
        list(pool.map(send, range(SIMULTANEOUS)))
    total = HistoryUsage.objects.aggregate(sum=Sum("bytes"))["sum"]
    if scope == "user":
        assert Conversation.objects.count() == 3
        assert SearchRecord.objects.count() == 3
        assert len(contents()) == 6, "the turns of the conversations that are kept are complete"
        assert total <= 20_000
    else:
        assert 0 < total <= 5_000
    for name in ("member", "editor", "admin", "supporter")[: len(clients)]:
        assert_counted(live_world, name)


def test_simultaneous_turns_of_one_conversation_are_all_stored(member: Client, live_world: World) -> None:
    conversation = say(member, "Where are the bicycles?", useRag=True)

    def send(number: int) -> None:
        say(member, f"{number}: where are the bicycles?", useRag=True, conversationId=conversation)

    with ThreadPoolExecutor(SIMULTANEOUS) as pool:
        list(pool.map(send, range(SIMULTANEOUS)))
    stored = contents(conversation=conversation)
    assert len(stored) == 2 * (SIMULTANEOUS + 1)
    assert {f"{number}: where are the bicycles?" for number in range(SIMULTANEOUS)} < set(stored)


def test_administrators_see_the_size_of_their_members_histories(
    member: Client, live_world: World, language_model: ProviderServer
) -> None:
    language_model.replies = ["."]
    say(member, "x" * 30_000)
    owner = live_world.users["owner"]
    owner.is_staff = True
    owner.save()
    browser = Browser()
    browser.force_login(owner)
    page = browser.get(reverse("admin:orgs_organization_change", args=[live_world.home.pk])).text
    assert "29.5\xa0KB" in page
    assert "history stored" in page.lower()


def test_the_nightly_task_counts_what_was_stored_before(
    member: Client, live_world: World, language_model: ProviderServer
) -> None:
    language_model.replies = ["."]
    say(member, "x" * 1_000)
    search(member)
    counted = assert_counted(live_world)
    HistoryUsage.objects.all().delete()
    Conversation.objects.update(bytes=0)
    delete_expired_history()
    assert HistoryUsage.objects.get(user=live_world.users["member"]).bytes == counted
