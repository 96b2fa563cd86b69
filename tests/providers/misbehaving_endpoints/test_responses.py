"""Misbehaving language models, rerankers, entailment models and embedding models.

Whatever they send, memory stays bounded, no request goes to another address, and the exception is GenerationFailed,
RerankFailed, EntailmentFailed or EmbeddingFailed.
"""

import gzip
import json
import uuid
from typing import Any

import pytest

from rag.errors import GenerationFailed
from rag.providers.http import bounded_responses
from tests.providers.misbehaving_endpoints.model_calls import (
    CALLS,
    FAILURES,
    JSON,
    MESSAGES,
    STREAM,
    Call,
    complete,
    completion,
    embed,
    entail,
    model,
    rank,
    run_agent,
    score,
    stream,
    token,
)
from tests.support.servers.broken_http_server import BrokenHttpServer
from tests.support.speed.deferred import openai


@CALLS
@pytest.mark.parametrize("times", [1, 3])
def test_a_compressed_response_is_not_decompressed(upstream: BrokenHttpServer, call: Call, times: int) -> None:
    """46 kilobytes, compressed three times, take 11 seconds of CPU time, whatever the deadline."""
    answers: dict[Call, bytes] = {
        complete: completion("The yard."),
        stream: token("The yard.") + b"data: [DONE]\n\n",
        rank: b'{"results": [{"index": 0, "relevance_score": 0.5}]}',
        entail: b'[[{"label": "entailment", "score": 0.5}]]',
        score: b'{"data": [{"index": 0, "score": 0.5}]}',
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


def test_the_cookies_of_an_endpoint_are_not_kept(upstream: BrokenHttpServer) -> None:
    """One with a new name in each response made requests longer and longer, until they were refused."""
    upstream.once(JSON.replace(b"\r\n\r\n", b"\r\nSet-Cookie: session=1\r\n\r\n") + completion("The yard."))
    answering = model(upstream)
    assert [answering.complete(MESSAGES) for _ in range(2)] == ["The yard."] * 2
    assert b"cookie:" not in upstream.requests[1]


@CALLS
def test_an_endless_response_is_not_read_completely(upstream: BrokenHttpServer, call: Call) -> None:
    """A stream without line ends, which would fill the memory, is not read completely either."""
    upstream.without_end(JSON, b"x" * 65536)
    with pytest.raises(FAILURES, match=r"cannot be read|with embeddings") as caught:
        call(upstream, 120)
    assert not caught.value.is_timeout, "the size limit ended it, not the deadline"


@pytest.mark.parametrize("call", [complete, rank, entail, embed])
@pytest.mark.parametrize("status", [b"500 Error", b"400 Bad Request", b"302 Found"])
def test_the_body_of_an_error_is_not_read(upstream: BrokenHttpServer, call: Call, status: bytes) -> None:
    upstream.without_end(JSON.replace(b"200 OK", status), b"x" * 65536)
    with pytest.raises(FAILURES):
        call(upstream, 1)
    assert upstream.gone.wait(5), "the endpoint still writes to a connection that nobody reads"


@pytest.mark.parametrize("call", [stream, run_agent])
@pytest.mark.parametrize("status", [b"200 OK", b"400 Bad Request"])
def test_responses_to_asynchronous_clients_have_a_maximum_size(
    upstream: BrokenHttpServer, monkeypatch: pytest.MonkeyPatch, call: Call, status: bytes
) -> None:
    monkeypatch.setattr(bounded_responses, "MAX_STREAM_BYTES", 1_000_000)
    upstream.without_end(JSON.replace(b"200 OK", status), b"x" * 65536)
    with pytest.raises(GenerationFailed) as caught:
        call(upstream, 5)
    assert not caught.value.is_timeout, "the size limit ended it, not the deadline"


def test_what_the_agent_reads_has_a_maximum_size(upstream: BrokenHttpServer) -> None:
    """The deadline ended nothing while the library took the response apart: 98 MB took more than 100 seconds."""
    upstream.once(JSON, b'{"choices": [', b"[]," * 500_000, b"[]]}")
    with pytest.raises(GenerationFailed) as caught:
        run_agent(upstream, 30)
    assert isinstance(caught.value.__cause__, bounded_responses.ResponseTooLarge | openai.APIConnectionError)


def test_the_text_of_a_stream_has_a_maximum_length(upstream: BrokenHttpServer) -> None:
    upstream.without_end(STREAM, token("x" * 10_000))
    part_lengths = map(len, model(upstream, 30).stream(MESSAGES))
    lengths: list[int] = []
    with pytest.raises(GenerationFailed, match="cannot be read"):
        lengths.extend(part_lengths)
    assert sum(lengths) <= 1_000_000


@CALLS
def test_a_broken_connection_is_a_failure_of_the_service(upstream: BrokenHttpServer, call: Call) -> None:
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
        b'[[{"label": "entailment", "score": 1' + b"0" * 400 + b"}]]",
        b'{"data": [{"index": 0, "score": 1e999}]}',
        b"\xff\xfe" * 10,
        b"[" * 100_000,
    ],
)
def test_an_invalid_response_is_a_failure_of_the_service(upstream: BrokenHttpServer, call: Call, body: bytes) -> None:
    upstream.once(STREAM + b"data: " + body + b"\n\n" if call is stream else JSON + body)
    try:
        text = call(upstream, 2)
    except FAILURES:
        return
    assert text == "", "a stream without text is empty; rag.pipeline.answering.generate reports it"


@pytest.mark.parametrize("message", [{}, {"tool_calls": [{"id": "1", "type": "function"}]}])
def test_a_completion_without_text_is_a_failure(upstream: BrokenHttpServer, message: dict[str, Any]) -> None:
    upstream.once(JSON + completion(None, **message))
    with pytest.raises(GenerationFailed, match="without a text"):
        complete(upstream)


def test_an_error_event_ends_a_stream(upstream: BrokenHttpServer) -> None:
    upstream.once(STREAM + token("The ") + b'data: {"error": {"message": "out of credit"}}\n\n')
    with pytest.raises(GenerationFailed) as caught:
        stream(upstream)
    assert "credit" not in caught.value.message


def test_a_stream_ends_at_done_and_yields_only_text(upstream: BrokenHttpServer) -> None:
    rest = b": comment\nevent: x\r\nid: 1\n\ndata:\t" + token("yard.")[6:] + b"data: [DONE]\n\n" + token("never")
    role = b'data: {"choices": [{"delta": {"role": "assistant"}}]}\r\n\r\ndata: {"choices": []}\n\n'
    upstream.once(STREAM, role, token("In the "), *(rest[index : index + 1] for index in range(len(rest))))
    assert stream(upstream) == "In the yard."


def test_a_stream_that_breaks_off_is_a_failure(upstream: BrokenHttpServer) -> None:
    """Some endpoints do not send `[DONE]`; a stream without a reason to end is not complete, however it was closed."""
    upstream.once(STREAM + token("In the "))
    with pytest.raises(GenerationFailed, match="broke off"):
        stream(upstream)
    upstream.once(STREAM + token("In the yard.") + b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n')
    assert stream(upstream) == "In the yard."


@pytest.mark.parametrize("call", [complete, stream])
def test_characters_that_cannot_be_stored_are_replaced(upstream: BrokenHttpServer, call: Call) -> None:
    """JSON can contain NUL and lone surrogates; PostgreSQL and UTF-8 cannot."""
    text = "In\0 the yard\ud800.\udfff"
    upstream.once(STREAM + token(text) + b"data: [DONE]\n\n" if call is stream else JSON + completion(text))
    assert call(upstream, 2) == "In the yard?.?"


@CALLS
def test_redirects_are_not_followed(upstream: BrokenHttpServer, call: Call) -> None:
    """The key and the passages are sent only to the configured endpoint."""
    with BrokenHttpServer().running() as elsewhere:
        elsewhere.once(JSON + completion("Here."))
        for status in (301, 307, 308):
            location = f"HTTP/1.1 {status} Moved\r\nLocation: {elsewhere.address}/x\r\nContent-Length: 0\r\n"
            upstream.once(location.encode() + b"Connection: close\r\n\r\n")
            with pytest.raises(FAILURES):
                call(upstream, 2)
        assert len(upstream.requests) == 3
        assert elsewhere.requests == []


def test_closing_a_stream_ends_the_request(upstream: BrokenHttpServer) -> None:
    upstream.without_end(STREAM, token("word " + uuid.uuid4().hex), every=0.01)
    parts = model(upstream, 30).stream(MESSAGES)
    assert next(parts).startswith("word")
    parts.close()  # type: ignore[attr-defined]  # a generator
    assert upstream.gone.wait(5), "the endpoint still writes to a connection that nobody reads"
