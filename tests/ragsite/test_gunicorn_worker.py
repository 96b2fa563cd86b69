"""ragsite.run.gunicorn_worker: no client keeps others waiting by being slow itself, and what is no request is
refused as JSON.

A real gunicorn with two threads. It waits for clients for a second, or for a minute where a test has to see that
nobody waits for that long (tests/support/gunicorn_worker.py)."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from ragsite.run import gunicorn_worker

GET = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with running() as number:
        yield number


@pytest.fixture(scope="module")
def patient_port() -> Iterator[int]:
    """Of a server that gives a slow client a minute: three times as long as the tests' clients wait."""
    with running(ARRIVAL_SECONDS="60") as number:
        yield number


@contextlib.contextmanager
def running(**environment: str) -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "gunicorn", "tests.support.gunicorn_worker", "--bind", f"127.0.0.1:{number}"]
    command += ["--worker-class", "tests.support.gunicorn_worker.Worker", "--workers", "1", "--threads", "2"]
    command += ["--no-control-socket", "--log-level", "critical", "--graceful-timeout", "2"]
    process = subprocess.Popen(command, env={**os.environ, **environment})
    try:
        deadline = time.monotonic() + 120
        while not is_ready(number):
            assert process.poll() is None, "gunicorn ended"
            assert time.monotonic() < deadline, "gunicorn did not become ready"
            time.sleep(0.05)
        yield number
    finally:
        process.terminate()
        process.wait(20)


def is_ready(port: int) -> bool:
    try:
        return bool(answered(port, GET % b""))
    except OSError:
        return False


def opened(port: int, first: bytes = b"") -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), timeout=20)
    client.sendall(first)
    return client


def said(client: socket.socket) -> bytes:
    """One answer, by its length."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += _some(client)
    head, _, body = answer.partition(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split()[0])
    while len(body) < length:
        body += _some(client)
    return head + b"\r\n\r\n" + body


def _some(client: socket.socket) -> bytes:
    part = client.recv(1) if client.gettimeout() else b""
    if not part:
        raise ConnectionError("the server closed")
    return part


def answered(port: int, request: bytes) -> bytes:
    with opened(port, request) as client:
        return said(client)


@pytest.mark.parametrize(
    ("first", "count"),
    [
        (b"", 50),
        (b"GET / HTTP/1.1\r\nHost: loc", 50),
        (POST % b"Content-Length: 2000" + b"a", 50),
        (POST % b"Content-Length: 2000000" + b"a", 50),
        (POST % b"Transfer-Encoding: chunked" + b"5\r\na", 50),
        (POST % b"Content-Length: 20\r\nExpect: 100-continue", 50),
        (GET % b"" + b"GET / HT", 50),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 50),
    ],
    ids=["nothing", "headers", "short body", "long body", "pieces", "asks first", "next request", "does not leave"],
)
def test_slow_clients_keep_nobody_waiting(patient_port: int, first: bytes, count: int) -> None:
    """Far more of them than the server has threads. A request that waited for one of them would time out."""
    with contextlib.ExitStack() as slow:
        for _ in range(count):
            slow.enter_context(opened(patient_port, first))
        assert answered(patient_port, GET % b"quick").endswith(b"/quick 0")


@pytest.mark.parametrize(
    "first", [b"", b"GET / HTTP/1.1\r\n", POST % b"Content-Length: 2000"], ids=["nothing", "headers", "body"]
)
def test_what_does_not_arrive_is_given_up(port: int, first: bytes) -> None:
    with opened(port, first) as client:
        assert client.recv(100) == b""


def test_drops_do_not_prolong_the_time_to_arrive(port: int) -> None:
    with opened(port, b"GET / HTTP/1.1\r\n") as client, pytest.raises(ConnectionError):
        _dropped(client)


def _dropped(client: socket.socket) -> None:
    """For ten seconds; the second for arriving and the look for late ones are less."""
    for _ in range(100):
        client.sendall(b"X: y\r\n")
        time.sleep(0.1)


def test_a_long_body_that_comes_too_slowly_is_at_its_end(port: int) -> None:
    with opened(port, POST % b"Content-Length: 2000000" + b"abc") as client:
        assert said(client).endswith(b"/ 3")


def test_requests_arrive_in_any_parts(port: int) -> None:
    """Several at once, one byte at a time, and a body behind its headers; in their order, on one connection."""
    with opened(port, GET % b"a" + GET % b"b") as client:
        assert [said(client)[-4:], said(client)[-4:]] == [b"/a 0", b"/b 0"]
        for byte in GET % b"c":
            client.sendall(bytes([byte]))
        assert said(client).endswith(b"/c 0")
        client.sendall(POST % b"Content-Length: 3")
        client.sendall(b"abc")
        assert said(client).endswith(b"/ 3")
        client.sendall(POST % b"Transfer-Encoding: chunked" + b"3\r\nabc\r\n0\r\n\r\n" + GET % b"d")
        assert [said(client)[-4:], said(client)[-4:]] == [b"\n/ 3", b"/d 0"]


def test_a_long_body_arrives_whole(port: int) -> None:
    length = gunicorn_worker.MAX_SHORT_BODY_BYTES * 10
    with opened(port, POST % b"Content-Length: %d" % length) as client:
        client.sendall(b"a" * length)
        assert said(client).endswith(b"/ %d" % length)


def test_who_asks_first_is_told_to_go_on(port: int) -> None:
    with opened(port, POST % b"Content-Length: 3\r\nExpect: 100-continue") as client:
        assert client.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"abc")
        assert said(client).endswith(b"/ 3")


@pytest.mark.parametrize(
    "body",
    [b"x\r\n", b"3\r\nabcdef\r\n0\r\n\r\n", b"f" * 15 + b"\r\na", b"0" * 100_000],
    ids=["x", "more", "16^15", "long"],
)
def test_pieces_that_are_none_break_the_body_off(port: int, body: bytes) -> None:
    with opened(port, POST % b"Transfer-Encoding: chunked" + body) as client:
        client.shutdown(socket.SHUT_WR)
        assert said(client).endswith(b"broken off")


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (GET % (b"a" * 10_000), 414),
        (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 2000 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * 10_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * 1_000_000, 431),
        (b"no request\r\n\r\n", 400),
        (POST % b"Expect: nothing", 417),
        (POST % b"Transfer-Encoding: nonsense", 501),
        (POST % b"Content-Length: 3\r\nContent-Length: 4" + b"abc", 400),
    ],
    ids=["path", "headers", "header", "no end", "none", "expectation", "coding", "two lengths"],
)
def test_what_is_no_request_is_refused_as_json(port: int, request_: bytes, status: int) -> None:
    answer = answered(port, request_)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert set(json.loads(body)) == {"error", "message", "details"}
