"""POST /v1/chat/completions, through OpenAI's own client and as chat front ends send it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from rag.contracts.openai_api.completions import CORRECTION
from rag.models import Conversation
from tests.support.factories import World
from tests.support.http import Client
from tests.support.servers.provider_server import ProviderServer
from tests.support.speed.deferred import openai

QUESTION = "Where are the bicycles parked?"
ANSWER = "Bicycles are parked in the yard. [1]"
Api = Callable[..., Client]


def ask(text: str = QUESTION) -> list[Any]:
    return [{"role": "user", "content": text}]


def test_an_answer_is_the_one_of_rest_with_annotations_and_usage(client: openai.OpenAI, api: Api) -> None:
    completion = client.chat.completions.create(model="ragsite", messages=ask())
    of_rest = api("member").post("/api/rag/query", {"query": QUESTION}).body
    (choice,) = completion.choices
    assert choice.message.content == of_rest["answer"] == ANSWER
    assert choice.finish_reason == "stop"
    assert completion.model == "ragsite"
    citations = [annotation.url_citation for annotation in choice.message.annotations or ()]
    expected = [
        (citation["uri"] or citation["path"], citation["title"], citation["documentId"], citation["quote"])
        for citation in of_rest["citationsUsed"]
    ]
    answered: Any = [(item.url, item.title, item.document_id, item.quote) for item in citations]  # type: ignore[attr-defined]
    assert answered == expected
    assert [ANSWER[item.start_index : item.end_index] for item in citations] == ["[1]"]
    assert completion.usage
    assert completion.usage.prompt_tokens == of_rest["tokenCount"]
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens
    assert not Conversation.objects.exists(), "the client keeps the dialogue"


def test_a_model_is_one_data_source(client: openai.OpenAI) -> None:
    kettle = "Where is the kettle?"
    completion = client.chat.completions.create(model="ragsite/kitchen", messages=ask(kettle))
    annotations = completion.choices[0].message.annotations or []
    assert [item.url_citation.url for item in annotations] == ["https://acme.example/tea"]
    elsewhere = client.chat.completions.create(model="ragsite/library", messages=ask(kettle))
    assert "kettle is on" not in str(elsewhere.choices[0].message.content)


@pytest.mark.parametrize("model", ["ragsite/closed", "ragsite/nowhere", "ragsite/", "gpt-4o"])
def test_a_model_of_others_does_not_exist(client: openai.OpenAI, model: str) -> None:
    with pytest.raises(openai.NotFoundError) as raised:
        client.chat.completions.create(model=model, messages=ask())
    assert (raised.value.code, raised.value.type) == ("model_not_found", "invalid_request_error")
    assert "visible to you" in raised.value.message


def test_a_stream_has_the_same_answer_and_ends_with_done(client: openai.OpenAI, api: Api) -> None:
    stream = client.chat.completions.create(
        model="ragsite", messages=ask(), stream=True, stream_options={"include_usage": True}
    )
    *chunks, last = list(stream)
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert "".join(delta.content or "" for delta in deltas) == ANSWER
    assert deltas[0].role == "assistant"
    annotations: Any = [item for delta in deltas for item in getattr(delta, "annotations", None) or ()]
    assert [item["url_citation"]["title"] for item in annotations] == ["Bicycles"]
    assert [chunk.choices[0].finish_reason for chunk in chunks[-2:]] == [None, "stop"]
    assert last.choices == []
    assert last.usage
    assert last.usage.completion_tokens > 0
    lines = stream_lines(api("member"), {"model": "ragsite", "messages": ask(), "stream": True})
    assert lines[-1] == "data: [DONE]"
    assert "usage" not in json.loads(lines[0].removeprefix("data: "))


def stream_lines(client: Client, body: Any) -> list[str]:
    import urllib.request

    headers = {"Content-Type": "application/json", **client.headers}
    request = urllib.request.Request(f"{client.address}/v1/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        assert response.headers["Content-Type"] == "text/event-stream"
        return [line.decode().strip() for line in response if line.strip()]


def test_a_streamed_text_that_is_not_supported_is_corrected(
    client: openai.OpenAI, language_model: ProviderServer
) -> None:
    unsupported = "The emperor ordered 4711 carriages [1]."
    language_model.replies = [unsupported]
    stream = client.chat.completions.create(model="ragsite", messages=ask(), stream=True)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
    streamed, _, checked = text.partition(CORRECTION)
    assert streamed == unsupported
    assert checked.startswith("No answer to this question was found")
    language_model.replies = [unsupported]
    completion = client.chat.completions.create(model="ragsite", messages=ask())
    assert completion.choices[0].message.content == checked


def test_an_error_within_a_stream_reaches_the_client(client: openai.OpenAI, language_model: ProviderServer) -> None:
    language_model.fail(401)
    with pytest.raises(openai.APIError) as raised:
        list(client.chat.completions.create(model="ragsite", messages=ask(), stream=True))
    assert (raised.value.type, raised.value.code) == ("server_error", "generation_failed")


def test_a_follow_up_question_is_completed_with_the_dialogue(
    client: openai.OpenAI, language_model: ProviderServer
) -> None:
    language_model.replies = [QUESTION, ANSWER]
    dialogue: list[Any] = [
        *ask("Do we have bicycles?"),
        {"role": "assistant", "content": "Yes, two."},
        *ask("And where are they?"),
    ]
    completion = client.chat.completions.create(model="ragsite/library", messages=dialogue)
    assert completion.choices[0].message.content == ANSWER
    rewriting, answering = (json.dumps(request["messages"]) for request in language_model.requests)
    assert "Do we have bicycles?" in rewriting
    assert QUESTION in answering


def test_instructions_of_a_client_are_ignored(api: Api, library: World, language_model: ProviderServer) -> None:
    language_model.replies = [ANSWER]
    messages = [{"role": "system", "content": "Speak like a pirate."}, *ask()]
    reply = api("member").post("/v1/chat/completions", {"model": "ragsite", "messages": messages})
    assert "system" in reply.headers["x-request-warnings"]
    assert "pirate" not in json.dumps(language_model.requests)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tools", [{"type": "function", "function": {"name": "f", "parameters": {}}}]),
        ("tool_choice", "required"),
        ("functions", [{"name": "f"}]),
        ("n", 2),
        ("response_format", {"type": "json_object"}),
        ("messages", [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]),
        ("messages", [{"role": "assistant", "content": "Hello."}]),
    ],
)
def test_what_is_not_supported_is_refused_by_name(client: openai.OpenAI, field: str, value: Any) -> None:
    body: dict[str, Any] = {"model": "ragsite", "messages": ask(), field: value}
    with pytest.raises(openai.BadRequestError) as raised:
        client.chat.completions.create(**body)
    assert (raised.value.param or "").partition("[")[0] == field
    assert raised.value.type == "invalid_request_error"


# The bodies that Open WebUI and LibreChat send, with their additional fields.
OPEN_WEBUI = {
    "stream": True,
    "model": "ragsite",
    "messages": [{"role": "system", "content": "You are helpful."}, *ask()],
    "params": {},
    "features": {"web_search": False},
    "variables": {"{{USER_NAME}}": "Ada"},
    "tool_servers": [],
    "session_id": "x",
    "chat_id": "y",
    "background_tasks": {"title_generation": True},
    "stream_options": {"include_usage": True},
}
LIBRE_CHAT = {
    "model": "ragsite",
    "user": "65f0",
    "stream": True,
    "temperature": 1,
    "top_p": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "tools": None,
    "messages": [{"role": "user", "content": [{"type": "text", "text": QUESTION}]}],
}


@pytest.mark.parametrize("body", [OPEN_WEBUI, LIBRE_CHAT], ids=["Open WebUI", "LibreChat"])
def test_the_requests_of_chat_front_ends_are_answered(api: Api, library: World, body: dict[str, Any]) -> None:
    member = api("member")
    *lines, done = stream_lines(member, body)
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines]
    text = "".join(choice["delta"].get("content", "") for chunk in chunks for choice in chunk["choices"])
    assert (text, done) == (ANSWER, "data: [DONE]")
    plain = member.post("/v1/chat/completions", {**body, "stream": False})
    assert plain.body["choices"][0]["message"]["content"] == ANSWER
    assert "was ignored" in plain.headers["x-request-warnings"]
