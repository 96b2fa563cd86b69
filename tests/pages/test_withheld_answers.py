"""Stored answers of the page "Ask" after one of their sources is closed to their reader."""

from typing import Any

import pytest
from django.test import Client
from django.utils.http import urlencode

from orgs.access.permissions import Visibility
from rag.models import ConversationMessage, DataSource
from tests.pages.page_requests import ask, citation_urls, stream
from tests.support.browsers import browser
from tests.support.factories import World, ingest_text
from tests.support.servers.provider_server import ProviderServer

# The passage does not answer it, so the answer declines it, and quotes what comes closest.
DECLINED = "How old does a zebra get when it is standing up?"
QUOTE = "weighs about 300 kilograms"


@pytest.fixture(autouse=True)
def committed(transactional_db: None) -> None:
    """A stream closes its connection between two events, which would end a test's transaction."""


def close(source: DataSource) -> None:
    DataSource.objects.filter(pk=source.pk).update(visibility=Visibility.PERSONAL)


def search(client: Client, text: str) -> str:
    return client.get(f"/history?{urlencode({'q': text})}").content.decode()


def test_the_quote_of_a_declined_question_is_withheld(world: World, source: DataSource) -> None:
    client = browser(world.users["member"])
    url = stream(client, question=DECLINED)[-1][1]["url"]
    message = ConversationMessage.objects.get(role="assistant")
    assert message.details
    assert not message.details["citations"]
    assert QUOTE in client.get(url).content.decode()
    assert url in search(client, QUOTE)
    close(source)
    html = client.get(url).content.decode()
    assert QUOTE not in html
    assert "may no longer query" in html
    assert url not in search(client, QUOTE)


def test_a_declined_question_of_an_earlier_version_is_withheld(world: World, source: DataSource) -> None:
    """It does not say which source it quotes."""
    client = browser(world.users["member"])
    url = stream(client, question=DECLINED)[-1][1]["url"]
    message = ConversationMessage.objects.get(role="assistant")
    message.details = {**(message.details or {}), "sources": []}
    message.save()
    assert QUOTE not in client.get(url).content.decode()


def test_a_reply_of_the_chat_is_withheld_in_a_conversation_of_the_page(
    live_world: World, api: Any, language_model: ProviderServer, settings: Any
) -> None:
    settings.LLM_MODEL = ""
    source = live_world.source()
    ingest_text(source, "zebras.md", "The zebra sleeps standing up, and it weighs about 300 kilograms.")
    other = live_world.source("other")
    ingest_text(other, "lions.md", "The lion sleeps in the shade of an acacia.", title="Lions")
    client = browser(live_world.users["member"])
    done = stream(client, question="Where does the lion sleep?", sources=[str(other.pk)])[-1][1]
    messages = [{"role": "user", "content": "How much does a zebra weigh?"}]
    body = {"messages": messages, "useRag": True, "conversationId": done["conversation"]}
    assert QUOTE in api("member").post("/api/chat", body).body["data"]["message"]
    assert QUOTE in client.get(done["url"]).content.decode()
    close(source)
    html = client.get(done["url"]).content.decode()
    assert QUOTE not in html
    assert "acacia" in html, "the other answer uses another source"


def test_a_rewritten_question_does_not_repeat_a_withheld_answer(
    world: World, source: DataSource, language_model: ProviderServer, settings: Any
) -> None:
    settings.LLM_MODEL = ""
    client, other = browser(world.users["member"]), world.source("other")
    ingest_text(other, "lions.md", "The lion weighs 190 kilograms and sleeps in the shade.", title="Lions")
    done = stream(client, sources=[str(source.pk)])[-1][1]
    settings.LLM_MODEL = "test-model"
    rewritten = "How much does the lion weigh, compared with the zebra's 300 kilograms?"
    language_model.replies = [rewritten, "The lion weighs 190 kilograms [1]."]
    ask(client, "And the lion?", conversation=done["conversation"], sources=[str(other.pk)])
    assert "Searched for: How much does the lion weigh" in client.get(done["url"]).content.decode()
    close(source)
    html = client.get(done["url"]).content.decode()
    assert "300 kilograms" not in html
    assert "190 kilograms" in html


def test_an_answer_is_withheld_after_its_source_is_closed(world: World, source: DataSource) -> None:
    client = browser(world.users["member"])
    done = stream(client)[-1][1]
    assert "300 kilograms" in client.get(done["url"]).content.decode()
    search = f"/history?{urlencode({'q': '300 kilograms'})}"
    assert done["url"] in client.get(search).content.decode()
    DataSource.objects.filter(pk=source.pk).update(visibility=Visibility.PERSONAL)
    html = client.get(done["url"]).content.decode()
    assert "300 kilograms" not in html
    assert "may no longer query" in html
    assert done["url"] not in client.get(search).content.decode(), "a search does not reveal its words either"
    (url, *_) = citation_urls(done["html"])
    assert client.get(url.partition("#")[0]).status_code == 404


def test_a_withheld_answer_is_not_used_for_the_next_question(
    world: World, source: DataSource, language_model: ProviderServer, settings: Any
) -> None:
    settings.LLM_MODEL = ""
    client = browser(world.users["member"])
    conversation = stream(client)[-1][1]["conversation"]
    DataSource.objects.filter(pk=source.pk).update(visibility=Visibility.PERSONAL)
    ingest_text(world.source("other"), "tigers", "Tigers sleep in the shade.")
    settings.LLM_MODEL = "test-model"
    stream(client, question="And how heavy is it now?", conversation=conversation)
    prompts = [request for request in language_model.requests if "messages" in request]
    assert prompts
    assert "300 kilograms" not in str(prompts)
