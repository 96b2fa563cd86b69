"""The real web server (nginx and gunicorn): slow clients do not block others, malformed requests get JSON."""

import contextlib
import http.client
import json
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest
from django.conf import settings

from ragsite.run.web import THREADS
from tests.support.factories import World
from tests.support.processes.web import Web
from tests.support.servers.provider_server import ProviderServer

V3 = {"error", "message", "details"}
# More connections than the server has threads.
MANY = 2 * THREADS + 12
HOST = b"Host: localhost\r\n"
GET = b"GET %s HTTP/1.1\r\n" + HOST + b"\r\n"
POST = b"POST %s HTTP/1.1\r\n" + HOST + b"%s\r\n\r\n"


def connect(port: int, first: bytes = b"", *, address: str = "127.0.0.1") -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(30)
    client.bind((address, 0))
    client.connect(("127.0.0.1", port))
    client.sendall(first)
    return client


def read(client: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Read a response and return status, headers and body."""
    response = http.client.HTTPResponse(client)
    response.begin()
    with response:
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()


def send(port: int, request: bytes, **options: str) -> tuple[int, dict[str, str], bytes]:
    with connect(port, request, **options) as client:
        return read(client)


CLOSE = b"Connection: close\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n"


@pytest.fixture(scope="module")
def chat_model() -> Iterator[ProviderServer]:
    """The language model of the web server. It pauses after the first token of each answer."""
    with ProviderServer().running() as server, pytest.MonkeyPatch.context() as environment:
        for name, value in (("LLM_MODEL", "m"), ("LLM_BASE_URL", server.base_url), ("LLM_API_KEY", "secret")):
            environment.setenv(name, value)
        server.may_continue = threading.Event()
        yield server
        server.may_continue.set()


@pytest.fixture(scope="module")
def web_server(chat_model: ProviderServer, web_server: Web) -> Web:
    return web_server


@pytest.fixture
def large_file(web: Web) -> str:
    """A static file that no buffer of a socket holds."""
    folder = web.data / "static"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "large.bin").write_bytes(bytes(8_000_000))
    return "/static/large.bin"


# What a client sends at once; then it sends nothing more.
SLOW = (
    b"",
    b"GET /healthz HTTP/1.1\r\nHost: loc",
    POST % (b"/admin/login/", b"Content-Length: 60000") + b"a",
    POST % (b"/api/rag/search", b"Content-Length: 32000000") + b"a",
    POST % (b"/api/rag/search", b"Transfer-Encoding: chunked") + b"5\r\na",
    POST % (b"/api/rag/search", b"Content-Length: 20\r\nExpect: 100-continue"),
    GET % b"/healthz" + b"GET / HT",
)


def test_clients_that_send_slowly_do_not_block_others(web: Web) -> None:
    """No headers, headers, bodies for sign-in and search, with and without a length: more of each than threads."""
    with contextlib.ExitStack() as clients:
        for number, first in enumerate(SLOW, start=2):
            for _ in range(MANY):
                clients.enter_context(connect(web.port, first, address=f"127.0.0.{number}"))
            assert send(web.port, HEALTH)[0] == 200, first
        # A body that has arrived is read immediately, even if it is long.
        body = b'{"query": "' + b"z" * 1_000_000 + b'"}'
        request = POST % (b"/api/rag/search", CLOSE + b"Content-Length: %d" % len(body))
        assert send(web.port, request + body)[0] == 401


def test_clients_that_do_not_read_do_not_block_others(web: Web, large_file: str) -> None:
    with contextlib.ExitStack() as clients:
        for _ in range(MANY):
            clients.enter_context(connect(web.port, GET % large_file.encode(), address="127.0.0.2"))
        assert send(web.port, HEALTH)[0] == 200


OTHERS = ((b"/v1/models", {"error"}), (b"/mcp", {"jsonrpc", "id", "error"}))


def test_an_address_has_a_limit_of_requests_in_progress(web: Web) -> None:
    body = POST % (b"/api/rag/search", b"Content-Length: 2000\r\nExpect: 100-continue")
    with contextlib.ExitStack() as clients:
        for _ in range(settings.RAG_MAX_REQUESTS_PER_ADDRESS):
            client = clients.enter_context(connect(web.port, body, address="127.0.0.2"))
            assert client.recv(25) == CONTINUE, "the server waits for the body, so the request is counted"
        for path, keys in (
            (b"/healthz", V3),
            (b"/functions/v1/rag-search", V3 | {"status"}),
            (b"/agent/x", {"error"}),
            *OTHERS,
        ):
            request = b"GET %s HTTP/1.1\r\n" % path + HOST + CLOSE + b"\r\n"
            status, headers, content = send(web.port, request, address="127.0.0.2")
            refused = json.loads(content)
            assert (status, set(refused), "retry-after" in headers) == (429, keys, True)
            assert headers["x-request-id"]
            if path == b"/agent/x":
                assert set(refused["error"]) == {"type", "message", "details", "timestamp"}
                assert refused["error"]["type"] == "RATE_LIMITED"
                assert datetime.fromisoformat(refused["error"]["timestamp"]).tzinfo
        assert send(web.port, HEALTH)[0] == 200, "another address"


def test_streams_of_one_account_do_not_block_others(web: Web, live_world: World) -> None:
    """More streams than threads: half of the places are taken, the others are refused immediately."""
    content = json.dumps({"messages": [{"role": "user", "content": "Two words"}], "stream": True}).encode()

    def request(user: str) -> bytes:
        key = live_world.key(user).secret.encode()
        headers = b"X-API-Key: %s\r\nContent-Type: application/json\r\nContent-Length: %d" % (key, len(content))
        return POST % (b"/api/chat", headers) + content

    with contextlib.ExitStack() as clients:

        def open_stream(first: bytes) -> tuple[int, str | None]:
            """Read the start of the response; a stream stays open."""
            response = http.client.HTTPResponse(clients.enter_context(connect(web.port, first)))
            response.begin()
            if response.status == 200:
                assert response.readline() == b"event: sources\n"
            return response.status, response.getheader("Retry-After")

        first = request("member")
        assert open_stream(first) == (200, None)  # loads everything
        with ThreadPoolExecutor(THREADS) as executor:
            opened = Counter(executor.map(open_stream, [first] * THREADS))
        places = settings.RAG_MAX_LONG_REQUESTS // 2
        assert opened == {(200, None): places - 1, (429, "2"): THREADS - places + 1}
        assert send(web.port, HEALTH)[0] == 200
        assert open_stream(request("editor")) == (200, None)


def test_expect_100_continue_is_answered(web: Web) -> None:
    with connect(web.port, POST % (b"/api/rag/search", CLOSE + b"Content-Length: 3\r\nExpect: 100-continue")) as client:
        assert client.recv(25) == CONTINUE
        client.sendall(b"abc")
        assert read(client)[0] == 401


MALFORMED = (
    (414, GET % (b"/" + b"a" * 10_000)),
    (431, b"GET / HTTP/1.1\r\n" + HOST + b"X: y\r\n" * 10_000 + b"\r\n"),
    (431, b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"y" * 10_000 + b"\r\n\r\n"),
    (400, b"no request\r\n\r\n"),
    (400, GET % "/api/rag/sources?search=Fahrräder".encode()),
    (400, POST % (b"/", b"Content-Length: 3\r\nContent-Length: 4") + b"abc"),
    (400, POST % (b"/", b"Content-Length: 3\r\nTransfer-Encoding: chunked") + b"0\r\n\r\n"),
    (413, POST % (b"/api/rag/search", CLOSE + b"Content-Length: 100000000")),
    (413, POST % (b"/api/auth/token", CLOSE + b"Content-Length: 100000")),
    (413, POST % (b"/sign-in", CLOSE + b"Content-Length: 100000")),
)


def test_malformed_requests_are_refused_in_json(web: Web) -> None:
    for status, content in MALFORMED:
        response_status, headers, body = send(web.port, content)
        error = json.loads(body)
        assert (response_status, set(error)) == (status, V3), content[:100]
        assert error["details"]["request_id"] == headers["x-request-id"]


@pytest.mark.parametrize("character", [b"a", b"%22"])
def test_a_long_query_is_repeated_in_a_redirect(web: Web, character: bytes) -> None:
    """nginx took such headers for a server that does not answer."""
    state = character * (7_500 // len(character))
    status, headers, _ = send(web.port, GET % (b"/oauth/authorize?client_id=a&state=" + state))
    assert (status, len(headers["location"]) > 7_500) == (302, True)


def test_a_body_that_cannot_be_stored_is_refused_in_json(web: Web) -> None:
    """As on a full disk. nginx's own answer was a page."""
    bodies = web.data / "web" / str(web.port) / "bodies"
    bodies.rename(bodies.with_name("elsewhere"))
    try:
        body = b"z" * 100_000
        status, headers, content = send(web.port, POST % (b"/mcp", CLOSE + b"Content-Length: %d" % len(body)) + body)
    finally:
        bodies.with_name("elsewhere").rename(bodies)
    assert (status, set(json.loads(content)), headers["retry-after"]) == (503, {"jsonrpc", "id", "error"}, "5")


def test_a_refused_method_gets_the_names_of_the_allowed_ones(web: Web) -> None:
    """RFC 9110, 15.5.6. nginx refuses TRACE itself."""
    status, headers, body = send(web.port, b"TRACE /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
    assert (status, set(json.loads(body)), "GET" in headers["allow"]) == (405, V3, True)
    assert json.loads(body)["details"]["request_id"] == headers["x-request-id"]


def test_headers_of_clients_do_not_set_their_address_or_scheme(web: Web) -> None:
    """A key over plain HTTP is refused unless it comes from this machine; a client cannot claim either."""
    forged = b"X-Ragsite-Peer: 192.0.2.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-For: 192.0.2.1\r\n"
    request = b"GET /metrics HTTP/1.1\r\n" + HOST + CLOSE
    assert send(web.port, request + b"\r\n")[0] == 200
    assert send(web.port, request + b"X-Ragsite-Peer: 192.0.2.1\r\n\r\n")[0] == 200
    assert send(web.port, request + forged + b"\r\n")[0] != 200, "it was forwarded"
