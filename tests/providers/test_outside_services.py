"""Language models and rerankers that misbehave: nothing that they send holds a thread, fills the memory, leads
questions elsewhere, or ends in anything but the foreseen failure."""

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rag.errors import GenerationFailed, RerankFailed
from rag.providers.language_models.openai import OpenAILanguageModel
from rag.providers.rerankers.cohere import CohereReranker
from rag.services.search.agent import selected_text_passage
from rag.types import Message
from tests.support.upstream import Upstream

ASKED = [Message("user", "Where are the bicycles?")]
JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream().running() as server:
        yield server


def model(upstream: Upstream, timeout: float = 1.0) -> OpenAILanguageModel:
    return OpenAILanguageModel(name="test-model", base_url=upstream.address, api_key="secret", timeout=timeout)


def complete(upstream: Upstream, timeout: float = 1.0) -> str:
    return model(upstream, timeout).complete(ASKED)


def streamed(upstream: Upstream, timeout: float = 1.0) -> str:
    return "".join(model(upstream, timeout).stream(ASKED))


def rank(upstream: Upstream, timeout: float = 1.0) -> list[float]:
    reranker = CohereReranker(name="test-ranker", base_url=upstream.address, api_key="secret", timeout=timeout)
    return reranker.rank("bicycles", [selected_text_passage("Bicycles are parked in the yard.")])


def completion(content: Any, **message: Any) -> bytes:
    return json.dumps({"choices": [{"index": 0, "message": {"content": content, **message}}]}).encode()


def token(text: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"


Call = Callable[[Upstream, float], Any]
CALLS = pytest.mark.parametrize("call", [complete, streamed, rank])


@CALLS
@pytest.mark.parametrize("part", [b" ", b": still working\n\n", b"data: {}\n\n"])
def test_whoever_trickles_is_left_in_time(upstream: Upstream, call: Call, part: bytes) -> None:
    """RESOLUTION: "A model call is bounded (`LLM_TIMEOUT`, 60 s in all, retries included)"."""
    upstream.without_end(STREAM, part, every=0.05)
    with pytest.raises((GenerationFailed, RerankFailed)) as failed:
        call(upstream, 0.5)  # the answer has no end: only the deadline ends it
    assert failed.value.is_timeout


@CALLS
def test_whoever_falls_silent_in_the_middle_is_left_in_time(upstream: Upstream, call: Call) -> None:
    upstream.without_end(STREAM + b"data: {", b"", every=5)
    with pytest.raises((GenerationFailed, RerankFailed)) as failed:
        call(upstream, 0.5)
    assert failed.value.is_timeout


@CALLS
def test_an_endless_answer_is_not_read_to_its_end(upstream: Upstream, call: Call) -> None:
    """A stream without a line's end, as well: memory is what it would take."""
    upstream.without_end(JSON, b"x" * 65536)
    with pytest.raises((GenerationFailed, RerankFailed), match="cannot be read") as failed:
        call(upstream, 120)
    assert not failed.value.is_timeout, "its size ended it, not the deadline"


def test_a_stream_of_more_text_than_any_answer_has_is_ended(upstream: Upstream) -> None:
    upstream.without_end(STREAM, token("x" * 10_000))
    pieces = map(len, model(upstream, 30).stream(ASKED))
    lengths: list[int] = []
    with pytest.raises(GenerationFailed, match="cannot be read"):
        lengths.extend(pieces)
    assert sum(lengths) <= 1_000_000


@CALLS
def test_a_connection_that_breaks_is_a_failure_of_the_service(upstream: Upstream, call: Call) -> None:
    upstream.once(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 1000\r\n\r\ndata: {")
    with pytest.raises((GenerationFailed, RerankFailed)):
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
def test_what_is_no_answer_is_a_failure_of_the_service(upstream: Upstream, call: Call, body: bytes) -> None:
    upstream.once(STREAM + b"data: " + body + b"\n\n" if call is streamed else JSON + body)
    try:
        said = call(upstream, 2)
    except (GenerationFailed, RerankFailed):
        return
    assert said == "", "a stream without a text: whoever asked for it says so (rag.pipeline.answering.generate)"


@pytest.mark.parametrize("message", [{}, {"tool_calls": [{"id": "1", "type": "function"}]}])
def test_an_answer_without_a_text_is_a_failure(upstream: Upstream, message: dict[str, Any]) -> None:
    upstream.once(JSON + completion(None, **message))
    with pytest.raises(GenerationFailed, match="without a text"):
        complete(upstream)


def test_an_error_within_a_stream_ends_it(upstream: Upstream) -> None:
    upstream.once(STREAM + token("The ") + b'data: {"error": {"message": "out of credit"}}\n\n')
    with pytest.raises(GenerationFailed) as failed:
        streamed(upstream)
    assert "credit" not in failed.value.message


def test_a_stream_ends_at_done_and_leaves_out_what_is_no_text(upstream: Upstream) -> None:
    rest = b": comment\nevent: x\r\nid: 1\n\ndata:\t" + token("yard.")[6:] + b"data: [DONE]\n\n" + token("never")
    role = b'data: {"choices": [{"delta": {"role": "assistant"}}]}\r\n\r\ndata: {"choices": []}\n\n'
    upstream.once(STREAM, role, token("In the "), *(rest[index : index + 1] for index in range(len(rest))))
    assert streamed(upstream) == "In the yard."


@pytest.mark.parametrize("call", [complete, streamed])
def test_what_nobody_can_store_is_not_in_an_answer(upstream: Upstream, call: Call) -> None:
    """JSON can write NUL and half characters; PostgreSQL and UTF-8 cannot."""
    text = "In\0 the yard\ud800.\udfff"
    upstream.once(STREAM + token(text) if call is streamed else JSON + completion(text))
    assert call(upstream, 2) == "In the yard?.?"


@CALLS
def test_redirects_are_not_followed(upstream: Upstream, call: Call) -> None:
    """Neither the key nor the passages go anywhere but to the configured endpoint."""
    with Upstream().running() as elsewhere:
        elsewhere.once(JSON + completion("Here."))
        for status in (301, 307, 308):
            location = f"HTTP/1.1 {status} Moved\r\nLocation: {elsewhere.address}/x\r\nContent-Length: 0\r\n"
            upstream.once(location.encode() + b"Connection: close\r\n\r\n")
            with pytest.raises((GenerationFailed, RerankFailed)):
                call(upstream, 2)
        assert len(upstream.requests) == 3
        assert elsewhere.requests == []


def test_leaving_a_stream_ends_the_request(upstream: Upstream) -> None:
    upstream.without_end(STREAM, token("word " + uuid.uuid4().hex), every=0.01)
    pieces = model(upstream, 30).stream(ASKED)
    assert next(pieces).startswith("word")
    pieces.close()  # type: ignore[attr-defined]  # a generator
    assert upstream.gone.wait(5), "the endpoint goes on writing for nobody"
