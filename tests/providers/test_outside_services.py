"""Misbehaving language models, rerankers and embedding models.

Whatever they send, no thread waits for ever, memory stays bounded, no request goes to another address, and the
exception is GenerationFailed, RerankFailed or EmbeddingFailed.
"""

import gzip
import json
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from rag.errors import EmbeddingFailed, GenerationFailed, RerankFailed
from rag.providers.embedders.openai import OpenAIEmbedder
from rag.providers.http import bounded_responses
from rag.providers.language_models.agent_loop import AgentLoop
from rag.providers.language_models.openai import OpenAILanguageModel, is_reachable
from rag.providers.rerankers.cohere import CohereReranker
from rag.services.search.agent import selected_text_passage
from rag.types import Message
from tests.support.deferred import openai
from tests.support.servers.upstream import Upstream

MESSAGES = [Message("user", "Where are the bicycles?")]
JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream().running() as server:
        yield server


def model(upstream: Upstream, timeout: float = 1.0) -> OpenAILanguageModel:
    return OpenAILanguageModel(name="test-model", base_url=upstream.address, api_key="secret", timeout=timeout)


def complete(upstream: Upstream, timeout: float = 1.0) -> str:
    return model(upstream, timeout).complete(MESSAGES)


def stream(upstream: Upstream, timeout: float = 1.0) -> str:
    return "".join(model(upstream, timeout).stream(MESSAGES))


def rank(upstream: Upstream, timeout: float = 1.0) -> list[float]:
    reranker = CohereReranker(name="test-ranker", base_url=upstream.address, api_key="secret", timeout=timeout)
    return reranker.rank("bicycles", [selected_text_passage("Bicycles are parked in the yard.")])


@pytest.fixture(autouse=True)
def private_hosts(settings: Any) -> None:
    settings.RAG_ALLOWED_PRIVATE_HOSTS = ["127.0.0.1"]


def embed(upstream: Upstream, timeout: float = 1.0) -> Any:
    options: dict[str, Any] = {"base_url": upstream.address, "api_key_variable": "", "max_retries": 0}
    return OpenAIEmbedder(model="test-embedder", dimensions=384, timeout=timeout, **options).embed(["bicycles"])


def run_agent(upstream: Upstream, timeout: float = 1.0) -> str:
    loop = AgentLoop(name="test-model", base_url=upstream.address, api_key="secret", timeout=timeout)
    return loop.run(instructions="", text="Where are the bicycles?", tools=[])


def completion(content: Any, **message: Any) -> bytes:
    return json.dumps({"choices": [{"index": 0, "message": {"content": content, **message}}]}).encode()


def token(text: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"


Call = Callable[[Upstream, float], Any]
FAILURES = (GenerationFailed, RerankFailed, EmbeddingFailed)
CALLS = pytest.mark.parametrize("call", [complete, stream, rank, embed])


@CALLS
@pytest.mark.parametrize("part", [b" ", b": still working\n\n", b"data: {}\n\n"])
def test_a_response_that_trickles_times_out(upstream: Upstream, call: Call, part: bytes) -> None:
    """Shared rules: "A model call is bounded (`LLM_TIMEOUT`, 60 s in all, retries included)"."""
    upstream.without_end(STREAM, part, every=0.05)
    with pytest.raises(FAILURES) as caught:
        call(upstream, 0.5)  # the response has no end: only the deadline ends it
    assert caught.value.is_timeout


@CALLS
@pytest.mark.parametrize("part", [b"X-Padding: x\r\n", b"\r\nHTTP/1.1 103 Early Hints\r\n"], ids=["headers", "hints"])
def test_headers_that_trickle_time_out(upstream: Upstream, call: Call, part: bytes) -> None:
    """Each part of them began the time-outs of the connection again, so that an endpoint kept a thread for ever."""
    upstream.without_end(b"HTTP/1.1 103 Early Hints\r\n", part, every=0.05)
    with pytest.raises(FAILURES) as caught:
        call(upstream, 0.5)
    assert caught.value.is_timeout


def test_the_health_check_ends_although_headers_trickle(upstream: Upstream) -> None:
    upstream.without_end(b"HTTP/1.1 200 OK\r\n", b"X-Padding: x\r\n", every=0.05)
    assert not is_reachable(upstream.address, "")


@pytest.mark.parametrize("call", [complete, rank, embed])
def test_a_proxy_that_trickles_times_out(upstream: Upstream, monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    monkeypatch.setenv("HTTP_PROXY", upstream.address)
    upstream.without_end(b"HTTP/1.1 200 OK\r\n", b"X-Padding: x\r\n", every=0.05)
    elsewhere = Upstream()
    with pytest.raises(FAILURES) as caught:
        call(elsewhere, 0.5)
    assert caught.value.is_timeout
    assert upstream.requests


def test_a_request_that_is_read_slowly_times_out() -> None:
    """Documents are sent to Qdrant in requests of megabytes. Each part that was read began the time-out again."""
    is_over = threading.Event()

    def read_slowly(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            while not is_over.wait(0.02) and connection.recv(128 * 1024):
                pass

    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as thread:
        thread.submit(read_slowly, server)
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        try:
            with bounded_responses.BoundedClient(timeout=0.5) as client, pytest.raises(httpx2.WriteTimeout):
                client.post(address, content=b"x" * 40_000_000)
        finally:
            is_over.set()


@CALLS
@pytest.mark.parametrize("times", [1, 3])
def test_a_compressed_response_is_not_decompressed(upstream: Upstream, call: Call, times: int) -> None:
    """46 kilobytes, compressed three times, take 11 seconds of CPU time, whatever the deadline."""
    answers: dict[Call, bytes] = {
        complete: completion("The yard."),
        stream: token("The yard.") + b"data: [DONE]\n\n",
        rank: b'{"results": [{"index": 0, "relevance_score": 0.5}]}',
        embed: json.dumps({"data": [{"index": 0, "embedding": [0.1] * 384}]}).encode(),
    }
    body = answers[call]
    for _ in range(times):
        body = gzip.compress(body)
    encodings = b"Content-Encoding: " + b", ".join([b"gzip"] * times) + b"\r\n\r\n"
    upstream.once((STREAM if call is stream else JSON).removesuffix(b"\r\n") + encodings + body)
    with pytest.raises(FAILURES) as caught:
        call(upstream, 5)
    assert not caught.value.is_timeout
    assert b"accept-encoding: identity\n" in upstream.requests[0]


def test_the_cookies_of_an_endpoint_are_not_kept(upstream: Upstream) -> None:
    """One with a new name in each response made requests longer and longer, until they were refused."""
    upstream.once(JSON.replace(b"\r\n\r\n", b"\r\nSet-Cookie: session=1\r\n\r\n") + completion("The yard."))
    answering = model(upstream)
    assert [answering.complete(MESSAGES) for _ in range(2)] == ["The yard."] * 2
    assert b"cookie:" not in upstream.requests[1]


@CALLS
def test_a_response_that_stops_midway_times_out(upstream: Upstream, call: Call) -> None:
    upstream.without_end(STREAM + b"data: {", b"", every=5)
    with pytest.raises(FAILURES) as caught:
        call(upstream, 0.5)
    assert caught.value.is_timeout


@CALLS
def test_an_endless_response_is_not_read_completely(upstream: Upstream, call: Call) -> None:
    """A stream without line ends, which would fill the memory, is not read completely either."""
    upstream.without_end(JSON, b"x" * 65536)
    with pytest.raises(FAILURES, match=r"cannot be read|with embeddings") as caught:
        call(upstream, 120)
    assert not caught.value.is_timeout, "the size limit ended it, not the deadline"


@pytest.mark.parametrize("call", [complete, rank, embed])
@pytest.mark.parametrize("status", [b"500 Error", b"400 Bad Request", b"302 Found"])
def test_the_body_of_an_error_is_not_read(upstream: Upstream, call: Call, status: bytes) -> None:
    upstream.without_end(JSON.replace(b"200 OK", status), b"x" * 65536)
    with pytest.raises(FAILURES):
        call(upstream, 1)
    assert upstream.gone.wait(5), "the endpoint still writes to a connection that nobody reads"


@pytest.mark.parametrize("call", [stream, run_agent])
@pytest.mark.parametrize("status", [b"200 OK", b"400 Bad Request"])
def test_responses_to_asynchronous_clients_have_a_maximum_size(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch, call: Call, status: bytes
) -> None:
    monkeypatch.setattr(bounded_responses, "MAX_STREAM_BYTES", 1_000_000)
    upstream.without_end(JSON.replace(b"200 OK", status), b"x" * 65536)
    with pytest.raises(GenerationFailed) as caught:
        call(upstream, 5)
    assert not caught.value.is_timeout, "the size limit ended it, not the deadline"


def test_what_the_agent_reads_has_a_maximum_size(upstream: Upstream) -> None:
    """The deadline ended nothing while the library took the response apart: 98 MB took more than 100 seconds."""
    upstream.once(JSON, b'{"choices": [', b"[]," * 500_000, b"[]]}")
    with pytest.raises(GenerationFailed) as caught:
        run_agent(upstream, 30)
    assert isinstance(caught.value.__cause__, bounded_responses.ResponseTooLarge | openai.APIConnectionError)


def test_the_text_of_a_stream_has_a_maximum_length(upstream: Upstream) -> None:
    upstream.without_end(STREAM, token("x" * 10_000))
    part_lengths = map(len, model(upstream, 30).stream(MESSAGES))
    lengths: list[int] = []
    with pytest.raises(GenerationFailed, match="cannot be read"):
        lengths.extend(part_lengths)
    assert sum(lengths) <= 1_000_000


@CALLS
def test_a_broken_connection_is_a_failure_of_the_service(upstream: Upstream, call: Call) -> None:
    upstream.once(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 1000\r\n\r\ndata: {")
    with pytest.raises(FAILURES):
        call(upstream, 2)


@CALLS
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b'{"choices": [null]}',
        b'{"choices": 1, "results": 1}',
        b'{"choices": [{"delta": 1, "message": 1}], "results": [1]}',
        b'{"choices": [{"delta": {"content": 1}, "message": {"content": 1}}]}',
        b'{"results": [{"index": 1e400, "relevance_score": 1}]}',
        b'{"results": [{"index": 0, "relevance_score": 1' + b"0" * 400 + b"}]}",
        b"\xff\xfe" * 10,
        b"[" * 100_000,
    ],
)
def test_an_invalid_response_is_a_failure_of_the_service(upstream: Upstream, call: Call, body: bytes) -> None:
    upstream.once(STREAM + b"data: " + body + b"\n\n" if call is stream else JSON + body)
    try:
        text = call(upstream, 2)
    except FAILURES:
        return
    assert text == "", "a stream without text is empty; rag.pipeline.answering.generate reports it"


@pytest.mark.parametrize("message", [{}, {"tool_calls": [{"id": "1", "type": "function"}]}])
def test_a_completion_without_text_is_a_failure(upstream: Upstream, message: dict[str, Any]) -> None:
    upstream.once(JSON + completion(None, **message))
    with pytest.raises(GenerationFailed, match="without a text"):
        complete(upstream)


def test_an_error_event_ends_a_stream(upstream: Upstream) -> None:
    upstream.once(STREAM + token("The ") + b'data: {"error": {"message": "out of credit"}}\n\n')
    with pytest.raises(GenerationFailed) as caught:
        stream(upstream)
    assert "credit" not in caught.value.message


def test_a_stream_ends_at_done_and_yields_only_text(upstream: Upstream) -> None:
    rest = b": comment\nevent: x\r\nid: 1\n\ndata:\t" + token("yard.")[6:] + b"data: [DONE]\n\n" + token("never")
    role = b'data: {"choices": [{"delta": {"role": "assistant"}}]}\r\n\r\ndata: {"choices": []}\n\n'
    upstream.once(STREAM, role, token("In the "), *(rest[index : index + 1] for index in range(len(rest))))
    assert stream(upstream) == "In the yard."


def test_a_stream_that_breaks_off_is_a_failure(upstream: Upstream) -> None:
    """Some endpoints do not send `[DONE]`; a stream without a reason to end is not complete, however it was closed."""
    upstream.once(STREAM + token("In the "))
    with pytest.raises(GenerationFailed, match="broke off"):
        stream(upstream)
    upstream.once(STREAM + token("In the yard.") + b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n')
    assert stream(upstream) == "In the yard."


@pytest.mark.parametrize("call", [complete, stream])
def test_characters_that_cannot_be_stored_are_replaced(upstream: Upstream, call: Call) -> None:
    """JSON can contain NUL and lone surrogates; PostgreSQL and UTF-8 cannot."""
    text = "In\0 the yard\ud800.\udfff"
    upstream.once(STREAM + token(text) + b"data: [DONE]\n\n" if call is stream else JSON + completion(text))
    assert call(upstream, 2) == "In the yard?.?"


@CALLS
def test_redirects_are_not_followed(upstream: Upstream, call: Call) -> None:
    """The key and the passages are sent only to the configured endpoint."""
    with Upstream().running() as elsewhere:
        elsewhere.once(JSON + completion("Here."))
        for status in (301, 307, 308):
            location = f"HTTP/1.1 {status} Moved\r\nLocation: {elsewhere.address}/x\r\nContent-Length: 0\r\n"
            upstream.once(location.encode() + b"Connection: close\r\n\r\n")
            with pytest.raises(FAILURES):
                call(upstream, 2)
        assert len(upstream.requests) == 3
        assert elsewhere.requests == []


def test_closing_a_stream_ends_the_request(upstream: Upstream) -> None:
    upstream.without_end(STREAM, token("word " + uuid.uuid4().hex), every=0.01)
    parts = model(upstream, 30).stream(MESSAGES)
    assert next(parts).startswith("word")
    parts.close()  # type: ignore[attr-defined]  # a generator
    assert upstream.gone.wait(5), "the endpoint still writes to a connection that nobody reads"
