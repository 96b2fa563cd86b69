"""The agent loop (OpenAI Agents SDK) against an endpoint on loopback: tools are called, and every run ends."""

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from rag.errors import EmbeddingFailed, GenerationFailed, InvalidRequest
from rag.providers.language_models import agent_loop
from rag.providers.language_models.agent_loop import MAX_TOOL_CALLS, MAX_TURNS, AgentLoop
from rag.types import AgentTool
from tests.support.servers.provider_server import ProviderServer, tool_call

SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}


@pytest.fixture
def model_provider() -> Iterator[ProviderServer]:
    with ProviderServer().running() as server:
        yield server


class Echo:
    """A tool that returns its argument and records its calls and their threads."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.calls: list[dict[str, Any]] = []
        self.threads: list[tuple[str, bool]] = []
        self._failure = failure

    def tool(self) -> AgentTool:
        return AgentTool("echo", "Repeats a word.", SCHEMA, SCHEMA, self._call)

    def _call(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self.calls.append(arguments)
        self.threads.append((threading.current_thread().name, _in_event_loop()))
        if self._failure is not None:
            raise self._failure
        return {"word": arguments["word"]}


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def run(model_provider: ProviderServer, tool: AgentTool, *, timeout: float = 20) -> str:
    loop = AgentLoop(name="test-model", base_url=model_provider.base_url, api_key="k", timeout=timeout)
    return loop.run(instructions="Use the tool.", text="Say zebra.", tools=[tool])


def tool_results(model_provider: ProviderServer) -> list[Any]:
    """The results of tools that the last request has sent to the model."""
    return [
        json.loads(message["content"])
        for message in model_provider.requests[-1]["messages"]
        if message["role"] == "tool"
    ]


def test_a_tool_is_called_and_its_result_is_sent_to_the_model(model_provider: ProviderServer) -> None:
    echo = Echo()
    model_provider.replies = [tool_call("echo", {"word": "zebra"}), "It said zebra."]
    assert run(model_provider, echo.tool()) == "It said zebra."
    assert echo.calls == [{"word": "zebra"}]
    assert tool_results(model_provider) == [{"word": "zebra"}]
    first, second = model_provider.requests
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert first["key"] == "Bearer k"
    assert [tool["function"]["name"] for tool in first["tools"]] == ["echo"]
    assert first["tools"][0]["function"]["parameters"] == SCHEMA
    assert set(first) <= {"path", "key", "messages", "model", "tools", "tool_choice", "stream"}
    assert len(second["messages"]) == 4


def test_the_reasoning_before_an_answer_is_left_out(model_provider: ProviderServer) -> None:
    model_provider.replies = ["<think>Easy.</think>\n\nFour."]
    assert run(model_provider, Echo().tool()) == "Four."


def test_several_calls_in_one_turn_run_one_after_the_other_outside_the_event_loop(
    model_provider: ProviderServer,
) -> None:
    echo = Echo()
    both = tool_call("echo", {"word": "a"})
    both["tool_calls"] += tool_call("echo", {"word": "b"}, number=2)["tool_calls"]
    model_provider.replies = [both, "Done."]
    assert run(model_provider, echo.tool()) == "Done."
    assert [call["word"] for call in echo.calls] == ["a", "b"]
    assert len(set(echo.threads)) == 1
    assert echo.threads[0][1] is False


@pytest.mark.parametrize("arguments", ["{", "[]", '"zebra"', "null"])
def test_the_model_receives_an_error_for_malformed_arguments(model_provider: ProviderServer, arguments: str) -> None:
    echo = Echo()
    model_provider.replies = [tool_call("echo", arguments), "Sorry."]
    assert run(model_provider, echo.tool()) == "Sorry."
    assert echo.calls == []
    assert "JSON object" in tool_results(model_provider)[0]["error"]


def test_the_model_receives_an_error_for_invalid_arguments(model_provider: ProviderServer) -> None:
    echo = Echo(InvalidRequest("word must be a string", field="word"))
    model_provider.replies = [tool_call("echo", {"word": 7}), "Sorry."]
    assert run(model_provider, echo.tool()) == "Sorry."
    assert tool_results(model_provider) == [{"error": "word must be a string"}]


def test_a_run_continues_after_a_call_of_an_unknown_tool(model_provider: ProviderServer) -> None:
    model_provider.replies = [tool_call("rm", {"path": "/"}), "Then without."]
    assert run(model_provider, Echo().tool()) == "Then without."
    assert len(model_provider.requests) == 2


def test_a_failing_tool_ends_the_run_with_its_exception(model_provider: ProviderServer) -> None:
    model_provider.replies = [tool_call("echo", {"word": "zebra"}), "Never said."]
    with pytest.raises(EmbeddingFailed, match="cannot be reached"):
        run(model_provider, Echo(EmbeddingFailed("m cannot be reached.")).tool())


def test_a_model_that_never_stops_calling_is_stopped(model_provider: ProviderServer) -> None:
    echo = Echo()
    model_provider.replies = [tool_call("echo", {"word": "more"}, number=number) for number in range(50)]
    with pytest.raises(GenerationFailed, match="turns"):
        run(model_provider, echo.tool())
    assert len(model_provider.requests) == MAX_TURNS
    assert len(echo.calls) <= MAX_TURNS


def test_the_number_of_calls_in_one_turn_is_limited(model_provider: ProviderServer) -> None:
    echo = Echo()
    many = tool_call("echo", {"word": "more"})
    for number in range(2, 60):
        many["tool_calls"] += tool_call("echo", {"word": "more"}, number=number)["tool_calls"]
    model_provider.replies = [many, "Enough."]
    assert run(model_provider, echo.tool()) == "Enough."
    assert len(echo.calls) == MAX_TOOL_CALLS


def test_temporary_errors_are_retried(model_provider: ProviderServer) -> None:
    model_provider.fail(503, retry_after_ms="1")
    model_provider.replies = ["Answer."]
    assert run(model_provider, Echo().tool()) == "Answer."
    assert len(model_provider.requests) == 2


@pytest.mark.parametrize(("status", "is_rate_limited"), [(429, True), (500, False), (401, False), (400, False)])
def test_permanent_errors_do_not_contain_the_providers_message(
    model_provider: ProviderServer, status: int, is_rate_limited: bool
) -> None:
    for _ in range(3):
        model_provider.fail(status, retry_after_ms="1")
    with pytest.raises(GenerationFailed) as caught:
        run(model_provider, Echo().tool())
    assert "as the test asked" not in caught.value.message
    assert caught.value.is_rate_limited is is_rate_limited


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"not json", b'{"choices": []}', b'{"choices": [{"index": 0, "message": null}]}', b'{"choices": 7}'],
)
def test_responses_that_are_no_completions(model_provider: ProviderServer, body: bytes) -> None:
    for _ in range(MAX_TURNS):
        model_provider.fail(200, body=body)
    with pytest.raises(GenerationFailed):
        run(model_provider, Echo().tool())


def test_arguments_that_are_nested_too_deep_end_the_run(model_provider: ProviderServer) -> None:
    model_provider.replies = [tool_call("echo", "[" * 5000)]
    with pytest.raises(GenerationFailed):
        run(model_provider, Echo().tool())


def test_an_empty_answer_is_a_failure(model_provider: ProviderServer) -> None:
    model_provider.replies = ["  "] * MAX_TURNS
    with pytest.raises(GenerationFailed):
        run(model_provider, Echo().tool())


def test_a_lone_surrogate_is_replaced(model_provider: ProviderServer) -> None:
    model_provider.replies = ["Zebra \ud83e."]
    assert run(model_provider, Echo().tool()) == "Zebra ?."


def test_the_whole_run_has_a_time_limit(model_provider: ProviderServer) -> None:
    model_provider.stall.clear()
    with pytest.raises(GenerationFailed) as caught:
        run(model_provider, Echo().tool(), timeout=0.5)
    assert caught.value.is_timeout
    assert model_provider.answered == 0, "the run ended before the endpoint answered"


def test_a_slow_tool_does_not_extend_the_time_limit(model_provider: ProviderServer) -> None:
    released, returned = threading.Event(), threading.Event()

    def wait(_: dict[str, Any]) -> dict[str, Any]:
        released.wait(60)
        returned.set()
        return {}

    model_provider.replies = [tool_call("wait", {})]
    try:
        with pytest.raises(GenerationFailed) as caught:
            run(model_provider, AgentTool("wait", "Waits.", SCHEMA, SCHEMA, wait), timeout=1)
        assert not returned.is_set(), "the run ended before the tool did"
    finally:
        released.set()
    assert caught.value.is_timeout


def test_an_unreachable_endpoint() -> None:
    loop = AgentLoop(name="m", base_url="http://127.0.0.1:9/v1", api_key="", timeout=20)
    with pytest.raises(GenerationFailed, match="cannot be reached") as caught:
        loop.run(instructions="", text="zebra", tools=[])
    assert "127.0.0.1" not in caught.value.message


def test_nothing_is_traced(model_provider: ProviderServer) -> None:
    import agents

    seen: list[object] = []

    class Spy(agents.tracing.TracingProcessor):
        def on_trace_start(self, trace: object) -> None:
            seen.append(trace)

        def on_trace_end(self, trace: object) -> None: ...

        def on_span_start(self, span: object) -> None:
            seen.append(span)

        def on_span_end(self, span: object) -> None: ...

        def shutdown(self) -> None: ...

        def force_flush(self) -> None: ...

    agents.add_trace_processor(Spy())
    agents.set_tracing_disabled(False)
    model_provider.replies = ["Answer."]
    run(model_provider, Echo().tool())
    assert seen == []


@pytest.mark.parametrize(
    "arguments", ['{"word": "zebra \ud83d"}', '{"word": "zebra \\ud83d"}'], ids=["in the string", "as an escape"]
)
def test_lone_surrogates_in_arguments(model_provider: ProviderServer, arguments: str) -> None:
    echo = Echo()
    model_provider.replies = [tool_call("echo", arguments), "It said zebra."]
    assert run(model_provider, echo.tool()) == "It said zebra."


def test_texts_and_arguments_without_an_end_are_refused(
    model_provider: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_loop, "MAX_ANSWER_CHARACTERS", 20)
    echo = Echo()
    model_provider.replies = [tool_call("echo", {"word": "zebra " * 20}), "z" * 21]
    with pytest.raises(GenerationFailed, match="too long"):
        run(model_provider, echo.tool())
    assert (echo.calls, tool_results(model_provider)) == ([], [{"error": "The arguments are too long."}])


def test_no_client_loads_pictures_of_an_answer(model_provider: ProviderServer) -> None:
    model_provider.replies = ["See ![plan](https://x.example/?q=salaries)."]
    assert run(model_provider, Echo().tool()) == "See ! [plan](https://x.example/?q=salaries)."


def test_a_model_that_repeats_the_ids_of_its_calls(model_provider: ProviderServer) -> None:
    """Some servers number the calls of each response, or give all of them the same id."""
    echo = Echo()
    model_provider.replies = [tool_call("echo", {"word": word}, number=1) for word in ("zebra", "lion")]
    model_provider.replies.append("It said lion.")
    assert run(model_provider, echo.tool()) == "It said lion."
    assert echo.calls == [{"word": "zebra"}, {"word": "lion"}]
    assert tool_results(model_provider) == [{"word": "zebra"}, {"word": "lion"}]
