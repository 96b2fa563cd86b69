"""What pages say when something is missing or has ended: a session, a conversation, the database."""

import uuid
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from rag.models import Conversation, DataSource
from ragsite.views.bounded_messages import MAX_MESSAGES
from tests.support.browsers import browser
from tests.support.factories import PASSWORD, World

from .page_requests import QUESTION, ask

pytestmark = pytest.mark.django_db(transaction=True)


CONVERSATION_PAGE = {"Referer": "http://testserver/conversations/1"}


def test_a_form_without_a_session_leads_back_to_its_page() -> None:
    expected_by_referer = {
        "http://testserver/conversations/1": "/conversations/1",
        "http://other.example/x": "/",
        "http://[x": "/",
        "": "/",
    }
    for referer, expected in expected_by_referer.items():
        reply = Client().post(f"/conversations/{uuid.uuid4()}/rename", {"title": "Mine"}, headers={"Referer": referer})
        assert reply.headers["Location"] == f"/sign-in?next={expected}"


def test_a_question_without_a_session_that_is_too_long_for_an_address_is_left_out() -> None:
    reply = Client().post("/", {"question": "🦁" * 2000}, headers=CONVERSATION_PAGE)
    assert len(reply.headers["Location"]) < 7000, "the web server refuses longer addresses"


def test_a_question_without_a_session_is_shown_after_the_sign_in(world: World, source: DataSource) -> None:
    client = Client()
    reply = client.post("/", {"question": "What & why?"}, headers=CONVERSATION_PAGE)
    fields = {"username": world.users["member"].email, "password": PASSWORD}
    shown = client.post(reply.headers["Location"].replace("/conversations/1", "/"), fields, follow=True)
    assert "What &amp; why?" in shown.content.decode()


def test_a_deleted_conversation_says_what_to_do(world: World, source: DataSource) -> None:
    client = browser(world.users["member"])
    gone = {"question": QUESTION, "conversation": str(uuid.uuid4())}
    for reply in (client.post("/", gone), client.post("/", gone, headers={"Accept": "text/event-stream"})):
        assert reply.status_code == 404
        assert "to begin a new one" in reply.content.decode()
        assert "conversationId" not in reply.content.decode()


def test_a_question_of_invisible_characters_is_none(world: World, source: DataSource) -> None:
    """Its conversation would have a link in the history that nobody sees."""
    client = browser(world.users["member"])
    for question in ("\u200b", "\u202e \u2060"):
        reply = ask(client, question)
        assert (reply.status_code, "This field is required." in reply.content.decode()) == (400, True)
    assert not Conversation.objects.exists()


def test_a_question_without_room_for_a_passage_is_to_be_shorter(world: World, source: DataSource) -> None:
    reply = browser(world.users["member"]).post("/", {"question": QUESTION + "🦁" * 1500})
    assert (reply.status_code, "Ask a shorter one" in reply.content.decode()) == (422, True)


def test_a_page_without_database_is_not_available(world: World) -> None:
    client = browser(world.users["member"])
    client.raise_request_exception = False

    def time_out(execute: Any, sql: str, params: Any, *arguments: Any) -> Any:
        execute("SELECT set_config('statement_timeout', '1', false)", None, *arguments)
        return execute("SELECT pg_sleep(60)", None, *arguments)

    with connection.execute_wrapper(time_out):
        reply = client.get("/history")
    connection.close()
    assert (reply.status_code, "not available at the moment" in reply.content.decode()) == (503, True)


def test_error_pages_have_a_way_back_and_a_request_id(world: World) -> None:
    client = browser(world.users["member"])
    forbidden, missing = client.get("/admin/rag/datasource/"), client.get("/nowhere")
    assert missing.status_code == 404
    assert forbidden.status_code in (302, 403)
    assert "Request id" in missing.content.decode()
    assert 'href="/"' in missing.content.decode()


def test_no_cache_keeps_an_error_page_that_names_the_account(world: World) -> None:
    member = world.users["member"]
    client = browser(member)
    document = f"/documents/{uuid.uuid4()}"
    for path in ("/nowhere", document, f"{document}?part=x"):
        reply = client.get(path)
        assert member.email in reply.content.decode()
        assert "no-store" in reply.headers["Cache-Control"], path


def test_messages_that_no_page_shows_do_not_pile_up(world: World, source: DataSource) -> None:
    """Each request reads and writes all of them: a client that follows no redirect made its own slower and slower."""
    client = browser(world.users["member"])
    url = ask(client).request["PATH_INFO"]
    for _ in range(MAX_MESSAGES + 5):
        assert client.post(f"{url}/rename", {"title": ""}).status_code == 302
    assert client.get("/history").content.decode().count("A title needs") == MAX_MESSAGES
    assert "A title needs" not in client.get("/history").content.decode()
