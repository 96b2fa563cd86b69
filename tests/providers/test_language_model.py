"""The OpenAI-compatible language model against a server with the faults of real ones."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import GenerationFailed, InvalidRequest
from rag.providers import provider_factory
from rag.providers.language_models import openai
from rag.providers.language_models.openai import OpenAILanguageModel
from rag.providers.language_models.reasoning import AnswerFilter, remove_reasoning
from rag.text.markup.pictures import PictureFilter
from rag.types import Message
from ragsite.observability import measurement_buffer
from tests.support.checks.growth import takes_linear_time
from tests.support.servers.provider_server import ProviderServer

HELLO = [Message("system", "Be brief."), Message("user", "Hello?")]


def model(model_provider: ProviderServer, *, timeout: float = 5, key: str = "secret") -> OpenAILanguageModel:
    return OpenAILanguageModel(name="test-model", base_url=model_provider.base_url, api_key=key, timeout=timeout)


def test_the_requests_that_are_sent(model_provider: ProviderServer) -> None:
    model_provider.replies = ["Hello.", "Hello."]
    assert model(model_provider).complete(HELLO, temperature=0.5) == "Hello."
    model(model_provider, key="").complete(HELLO)
    first, second = model_provider.requests
    assert first["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello?"}]
    assert (first["model"], first["temperature"], first["key"]) == ("test-model", 0.5, "Bearer secret")
    assert "temperature" not in second, "the model's own default"
    assert second["key"] == "Bearer none", "a local server needs no key"


def test_a_stream_yields_the_text_as_it_arrives(model_provider: ProviderServer) -> None:
    model_provider.replies = ["One two three."]
    assert list(model(model_provider).stream(HELLO)) == ["One ", "two ", "three."]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>\nThe user greets me.\n</think>\n\nHello to you.", "Hello to you."),
        ("<think></think>Hello.", "Hello."),
        ("<thinking> is a word.", "<thinking> is a word."),
        ("Write <think> x </think> here.", "Write <think> x </think> here."),
        ("<", "<"),
    ],
)
def test_the_reasoning_before_an_answer_is_left_out(model_provider: ProviderServer, text: str, answer: str) -> None:
    model_provider.replies = [text, text]
    assert model(model_provider).complete(HELLO) == answer
    assert "".join(model(model_provider).stream(HELLO)) == answer


@given(words=st.lists(st.sampled_from(["<think>", "</think>", "<", "think>", "a", "</", "\n"]), max_size=12))
def test_an_answer_does_not_depend_on_the_parts_in_which_it_arrives(words: list[str]) -> None:
    text, answer = "".join(words), AnswerFilter()
    letters = "".join(answer.add(letter) for letter in text) + answer.finish()
    assert letters == remove_reasoning(text)


def test_white_space_before_an_answer_takes_linear_time() -> None:
    """An endpoint that sends nothing else kept a core of the web process busy until the deadline."""

    def read(text: str) -> None:
        answer = AnswerFilter()
        assert not any(answer.add(letter) for letter in text)

    assert takes_linear_time(read, lambda length, _: " " * length, 40_000)


def test_a_reply_of_reasoning_alone_is_a_failure(model_provider: ProviderServer) -> None:
    model_provider.replies = ["<think> Hm."]
    with pytest.raises(GenerationFailed):
        model(model_provider).complete(HELLO)


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_temporary_errors_are_retried(model_provider: ProviderServer, status: int) -> None:
    model_provider.replies = ["Hello.", "Hello."]
    model_provider.fail(status, retry_after="0.01")
    assert model(model_provider).complete(HELLO) == "Hello."
    model_provider.fail(status, retry_after="0.01")
    assert "".join(model(model_provider).stream(HELLO)) == "Hello."
    assert len(model_provider.requests) == 4


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_permanent_errors_are_not_retried(model_provider: ProviderServer, status: int) -> None:
    model_provider.fail(status)
    with pytest.raises(GenerationFailed) as failure:
        model(model_provider).complete(HELLO)
    assert (failure.value.is_retryable, len(model_provider.requests)) == (False, 1)
    assert "as the test asked" not in failure.value.message, "the provider's message may quote the request"


def test_a_rate_limited_provider_is_recognized(model_provider: ProviderServer) -> None:
    for _ in range(3):
        model_provider.fail(429, retry_after="0.01")
    with pytest.raises(GenerationFailed) as failure:
        model(model_provider).complete(HELLO)
    assert failure.value.is_rate_limited
    assert len(model_provider.requests) == 3


def test_a_call_ends_within_its_timeout_including_retries(model_provider: ProviderServer) -> None:
    model_provider.stall.clear()
    for call in (
        lambda: model(model_provider, timeout=0.5).complete(HELLO),
        lambda: [*model(model_provider, timeout=0.5).stream(HELLO)],
    ):
        with pytest.raises(GenerationFailed) as failure:
            call()
        assert failure.value.is_timeout
    assert model_provider.answered == 0, "each call ended before the endpoint answered"
    model_provider.stall.set()


def test_a_retry_after_beyond_the_timeout_is_not_waited_for(model_provider: ProviderServer) -> None:
    model_provider.fail(429, retry_after="3600")
    with pytest.raises(GenerationFailed):
        model(model_provider).complete(HELLO)
    assert len(model_provider.requests) == 1


def test_an_unreachable_endpoint() -> None:
    unreachable = OpenAILanguageModel(name="m", base_url="http://127.0.0.1:9/v1", api_key="", timeout=5)
    with pytest.raises(GenerationFailed, match="cannot be reached"):
        unreachable.complete(HELLO)
    with pytest.raises(GenerationFailed, match="cannot be reached"):
        list(unreachable.stream(HELLO))


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"{}", b"<html>", b'{"choices": []}', b'{"choices": [{"message": {"content": null}}]}'],
)
def test_responses_that_are_no_completions(model_provider: ProviderServer, body: bytes) -> None:
    model_provider.fail(200, body=body)
    with pytest.raises(GenerationFailed):
        model(model_provider).complete(HELLO)


def test_the_registry_returns_the_requested_or_the_default_model(language_model: ProviderServer, settings: Any) -> None:
    assert provider_factory.language_model().name == "test-model"  # type: ignore[union-attr]
    assert provider_factory.language_model("other").name == "other"  # type: ignore[union-attr]
    settings.LLM_MODELS = ["second"]
    assert provider_factory.language_model("second").name == "second"  # type: ignore[union-attr]
    with pytest.raises(InvalidRequest, match="test-model, second"):
        provider_factory.language_model("other")
    settings.LLM_MODEL = ""
    assert provider_factory.language_model("second") is None


def test_models_that_only_clients_name_are_measured_together(model_provider: ProviderServer, settings: Any) -> None:
    """Clients could otherwise add names to the metrics and to the page Operations without end."""
    settings.LLM_MODEL, settings.LLM_BASE_URL, settings.LLM_API_KEY = "test-model", model_provider.base_url, "secret"
    measurement_buffer.take()
    for name in ("", "test-model", "made up 1", "made up 2"):
        named = provider_factory.language_model(name)
        assert named is not None
        named.complete(HELLO)
        assert list(named.stream(HELLO))
    counts = {key.name: totals.count for key, totals in measurement_buffer.take().totals.items() if key.kind == "model"}
    assert counts == {"test-model": 4, "other": 4}
    assert [request["model"] for request in model_provider.requests[-2:]] == ["made up 2"] * 2


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("See ![plan](https://x.example/?q=salaries) here.", "See ! [plan](https://x.example/?q=salaries) here."),
        ("![a][b]\n\n[b]: https://x.example", "! [a][b]\n\n[b]: https://x.example"),
        ('<IMG src="https://x.example/?q=1">', '< IMG src="https://x.example/?q=1">'),
        ("<<img>!![a](b)", "<< img>!! [a](b)"),
        ("<image src=a><Video poster=b><script>", "< image src=a>< Video poster=b>< script>"),
        ("a Map<Object> of <objects and <inputs> <scri", "a Map<Object> of <objects and <inputs> <scri"),
        ("Really![1] 1 < 2 <i>and</i> a <im", "Really! [1] 1 < 2 <i>and</i> a <im"),
        (
            "Noon [1], [ 2 ].\n\n[1]:https://x.example\n> [ 2 ]: b [3]",
            "Noon [1], [ 2 ].\n\n[1] :https://x.example\n> [ 2 ] : b [3]",
        ),
        ("See [1](b) [2][3][4].", "See [1] (b) [2][3][4]."),
        ("a[0] b[i]: c![1", "a[0] b[i]: c! [1"),
        ("[1][a] [2, 3](b) [4–5]: c [6][7, 8] [9]", "[1] [a] [2, 3] (b) [4–5] : c [6][7, 8] [9]"),
        ("[[1]](a) [the plan [2] of [b] noon][c]", "[[1]] (a) [the plan [2] of [b] noon] [c]"),
        ("[[[1]]](a)", "[[[1]]] (a)"),
        ("[1] [a](b) [2][", "[1] [a](b) [2] ["),
        ("[a link](https://x.example) stays!", "[a link](https://x.example) stays!"),
        ("<p STYLE = 'background:url(x)'><td/background=b>", "< p STYLE = 'background:url(x)'>< td/background=b>"),
        (
            '<div title=">" style="a"> <b title="<i x=">" style=c>',
            '< div title=">" style="a"> <b title="< i x=">" style=c>',
        ),
        (f"<b title='{'a' * 400}' style=c>", f"< b title='{'a' * 400}' style=c>"),
        ("<p class=a> style=b <i data-style=c> i<9; style=d", "<p class=a> style=b <i data-style=c> i<9; style=d"),
        ("<meta content=a><p style=", "< meta content=a>< p style="),
        ("i<n; style=a", "i< n; style=a"),
        ("<a_b style=c><x: background=d><é/style=e>", "< a_b style=c>< x: background=d><é/style=e>"),
        (f"<{'b' * 120} style=c>", f"< {'b' * 120} style=c>"),
        ("<details open ontoggle=a()><base href=b>", "< details open ontoggle=a()>< base href=b>"),
        ("```mermaid\nA@{ img: b }\n```", "```text mermaid\nA@{ img: b }\n```"),
        ("```{mermaid}\nA\n```\n~~~ { figure } b\n~~~", "```text {mermaid}\nA\n```\n~~~ text { figure } b\n~~~"),
        (":::{image} https://a.example\n:::\n::: note\n", ":::text {image} https://a.example\n:::\n::: note\n"),
        ("```geojson\n{}\n```\n```TopoJSON\n```", "```text geojson\n{}\n```\n```text TopoJSON\n```"),
        ("```json\n{}\n```\na::b::{c} ```x{1}```", "```json\n{}\n```\na::b::{c} ```x{1}```"),
        ("~~~~ \t Vega-lite\n{}", "~~~~ \t text Vega-lite\n{}"),
        ("``` &#109;ermaid\n", "``` text &#109;ermaid\n"),
        (f"```{' ' * 120}mermaid\n", f"```{' ' * 100}text {' ' * 20}mermaid\n"),
        ("```python\nx[0] = 1\n``` `mermaid` ~~vega~~ mer", "```python\nx[0] = 1\n``` `mermaid` ~~vega~~ mer"),
        ("<p class", "<p class"),
    ],
)
def test_no_client_loads_pictures_of_an_answer(model_provider: ProviderServer, text: str, answer: str) -> None:
    """A document that asks for a picture would learn of the question and of other passages."""
    model_provider.replies = [text, text]
    assert model(model_provider).complete(HELLO) == answer
    assert "".join(model(model_provider).stream(HELLO)) == answer
    for size in (1, 2, 3):
        pictures = PictureFilter()
        parts = [pictures.add(text[start : start + size]) for start in range(0, len(text), size)]
        assert "".join(parts) + pictures.finish() == answer


def test_an_answer_without_an_end_is_refused(model_provider: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai, "MAX_ANSWER_CHARACTERS", 20)
    for read in (model(model_provider).complete, lambda messages: "".join(model(model_provider).stream(messages))):
        model_provider.replies = ["zz " * 7]
        with pytest.raises(GenerationFailed, match="cannot be read"):
            read(HELLO)
        model_provider.replies = ["zz " * 6]
        assert read(HELLO).strip() == ("zz " * 6).strip()
