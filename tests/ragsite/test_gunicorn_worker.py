"""ragsite.run.gunicorn_worker: slow clients do not block others, and malformed requests get a response in JSON.

A real gunicorn with two threads. It waits one second for clients, or a minute where a test has to show that nobody
waits for them (tests/support/gunicorn_worker.py).
"""

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
    with run_server() as number:
        yield number


@pytest.fixture(scope="module")
def patient_port() -> Iterator[int]:
    """The port of a server that waits a minute for slow clients: three times as long as the tests' clients wait."""
    with run_server(ARRIVAL_SECONDS="60") as number:
        yield number


@contextlib.contextmanager
def run_server(**environment: str) -> Iterator[int]:
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
        return bool(send(port, GET % b""))
    except OSError:
        return False


def connect(port: int, first: bytes = b"") -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), timeout=20)
    client.sendall(first)
    return client


def read_response(client: socket.socket) -> bytes:
    """Read one response, whose Content-Length says where it ends."""
    response = b""
    while b"\r\n\r\n" not in response:
        response += _read_byte(client)
    head, _, body = response.partition(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split()[0])
    while len(body) < length:
        body += _read_byte(client)
    return head + b"\r\n\r\n" + body


def _read_byte(client: socket.socket) -> bytes:
    byte = client.recv(1) if client.gettimeout() else b""
    if not byte:
        raise ConnectionError("the server closed the connection")
    return byte


def send(port: int, request: bytes) -> bytes:
    with connect(port, request) as client:
        return read_response(client)


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
    ids=["nothing", "headers", "short body", "long body", "chunks", "100-continue", "next request", "does not close"],
)
def test_slow_clients_do_not_block_others(patient_port: int, first: bytes, count: int) -> None:
    """There are far more of them than threads. A request that waited for one of them would time out."""
    with contextlib.ExitStack() as slow_clients:
        for _ in range(count):
            slow_clients.enter_context(connect(patient_port, first))
        assert send(patient_port, GET % b"quick").endswith(b"/quick 0")


@pytest.mark.parametrize(
    "first", [b"", b"GET / HTTP/1.1\r\n", POST % b"Content-Length: 2000"], ids=["nothing", "headers", "body"]
)
def test_a_request_that_does_not_arrive_is_closed(port: int, first: bytes) -> None:
    with connect(port, first) as client:
        assert client.recv(100) == b""


def test_sending_slowly_does_not_extend_the_time_limit(port: int) -> None:
    with connect(port, b"GET / HTTP/1.1\r\n") as client, pytest.raises(ConnectionError):
        _send_slowly(client)


def _send_slowly(client: socket.socket) -> None:
    """Send headers for ten seconds, which is longer than the time limit and the interval of checks."""
    for _ in range(100):
        client.sendall(b"X: y\r\n")
        time.sleep(0.1)


def test_a_long_body_that_arrives_too_slowly_is_cut_off(port: int) -> None:
    with connect(port, POST % b"Content-Length: 2000000" + b"abc") as client:
        assert read_response(client).endswith(b"/ 3")


def test_requests_may_arrive_in_any_parts(port: int) -> None:
    """Several at once, one byte at a time, or a body after its headers: answered in order, on one connection."""
    with connect(port, GET % b"a" + GET % b"b") as client:
        assert [read_response(client)[-4:], read_response(client)[-4:]] == [b"/a 0", b"/b 0"]
        for byte in GET % b"c":
            client.sendall(bytes([byte]))
        assert read_response(client).endswith(b"/c 0")
        client.sendall(POST % b"Content-Length: 3")
        client.sendall(b"abc")
        assert read_response(client).endswith(b"/ 3")
        client.sendall(POST % b"Transfer-Encoding: chunked" + b"3\r\nabc\r\n0\r\n\r\n" + GET % b"d")
        assert [read_response(client)[-4:], read_response(client)[-4:]] == [b"\n/ 3", b"/d 0"]


def test_a_long_body_arrives_completely(port: int) -> None:
    length = gunicorn_worker.MAX_SHORT_BODY_BYTES * 10
    with connect(port, POST % b"Content-Length: %d" % length) as client:
        client.sendall(b"a" * length)
        assert read_response(client).endswith(b"/ %d" % length)


def test_expect_100_continue_is_answered(port: int) -> None:
    with connect(port, POST % b"Content-Length: 3\r\nExpect: 100-continue") as client:
        assert client.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"abc")
        assert read_response(client).endswith(b"/ 3")


@pytest.mark.parametrize(
    "body",
    [b"x\r\n", b"3\r\nabcdef\r\n0\r\n\r\n", b"f" * 15 + b"\r\na", b"0" * 100_000],
    ids=["x", "more", "16^15", "long"],
)
def test_malformed_chunks_break_the_body_off(port: int, body: bytes) -> None:
    with connect(port, POST % b"Transfer-Encoding: chunked" + body) as client:
        client.shutdown(socket.SHUT_WR)
        assert read_response(client).endswith(b"broken off")


@pytest.mark.parametrize(
    ("content", "status"),
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
def test_malformed_requests_are_refused_in_json(port: int, content: bytes, status: int) -> None:
    response = send(port, content)
    head, _, body = response.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert set(json.loads(body)) == {"error", "message", "details"}
