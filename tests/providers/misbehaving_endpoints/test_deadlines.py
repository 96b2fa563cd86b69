"""Requests to all kinds of models end, however slowly their endpoints send and read."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from rag.providers.http import bounded_responses
from rag.providers.language_models import openai
from tests.providers.misbehaving_endpoints.model_calls import (
    CALLS,
    FAILURES,
    STREAM,
    Call,
    complete,
    embed,
    entail,
    rank,
)
from tests.support.servers.broken_http_server import BrokenHttpServer

DEADLINE = 0.25  # seconds: long enough for a dozen parts of what trickles


@CALLS
@pytest.mark.parametrize("part", [b" ", b": still working\n\n", b"data: {}\n\n"])
def test_a_response_that_trickles_times_out(upstream: BrokenHttpServer, call: Call, part: bytes) -> None:
    """Shared rules: "A model call is bounded (`LLM_TIMEOUT`, 60 s in all, retries included)"."""
    upstream.without_end(STREAM, part, every=0.02)
    with pytest.raises(FAILURES) as caught:
        call(upstream, DEADLINE)  # the response has no end: only the deadline ends it
    assert caught.value.is_timeout


@CALLS
@pytest.mark.parametrize("part", [b"X-Padding: x\r\n", b"\r\nHTTP/1.1 103 Early Hints\r\n"], ids=["headers", "hints"])
def test_headers_that_trickle_time_out(upstream: BrokenHttpServer, call: Call, part: bytes) -> None:
    """Each part of them began the time-outs of the connection again, so that an endpoint kept a thread for ever."""
    upstream.without_end(b"HTTP/1.1 103 Early Hints\r\n", part, every=0.02)
    with pytest.raises(FAILURES) as caught:
        call(upstream, DEADLINE)
    assert caught.value.is_timeout


def test_the_health_check_ends_although_headers_trickle(
    upstream: BrokenHttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai, "MAX_HEALTH_CHECK_SECONDS", DEADLINE)
    upstream.without_end(b"HTTP/1.1 200 OK\r\n", b"X-Padding: x\r\n", every=0.02)
    assert not openai.is_reachable(upstream.address, "")


@pytest.mark.parametrize("call", [complete, rank, entail, embed])
def test_a_proxy_that_trickles_times_out(
    upstream: BrokenHttpServer, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    monkeypatch.setenv("HTTP_PROXY", upstream.address)
    upstream.without_end(b"HTTP/1.1 200 OK\r\n", b"X-Padding: x\r\n", every=0.02)
    elsewhere = BrokenHttpServer()
    with pytest.raises(FAILURES) as caught:
        call(elsewhere, DEADLINE)
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
def test_a_response_that_stops_midway_times_out(upstream: BrokenHttpServer, call: Call) -> None:
    upstream.without_end(STREAM + b"data: {", b"", every=5)
    with pytest.raises(FAILURES) as caught:
        call(upstream, DEADLINE)
    assert caught.value.is_timeout
