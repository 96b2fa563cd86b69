"""A small HTTP client that checks every response against the OpenAPI schema."""

import dataclasses
import functools
import http.client
import json
import threading
import urllib.request
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import django.test

from accounts.models import User
from accounts.sign_in.refresh_tokens import RefreshToken
from tests.support.checks import conformance
from tests.support.factories import PASSWORD


class _Connections(threading.local):
    """Connections of a thread, which stay open: the server starts a thread and a database session for each."""

    def __init__(self) -> None:
        self._by_address: dict[str, http.client.HTTPConnection] = {}

    def request(self, address: str, *arguments: Any) -> http.client.HTTPResponse:
        """Send a request, once more if the server has closed the connection since the last one."""
        connection = self._by_address.get(address)
        if connection is not None and connection.sock is not None:
            try:
                return self._send(connection, *arguments)
            except (ConnectionError, http.client.BadStatusLine):
                connection.close()
        connection = self._by_address[address] = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
        return self._send(connection, *arguments)

    @staticmethod
    def _send(connection: http.client.HTTPConnection, *arguments: Any) -> http.client.HTTPResponse:
        try:
            connection.request(*arguments)
            return connection.getresponse()
        except BaseException:
            connection.close()
            raise


_connections = _Connections()


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Client:
    address: str
    headers: dict[str, str] = field(default_factory=dict)

    def signed_in(self, email: str) -> "Client":
        pair = self.post("/api/auth/token", {"email": email, "password": PASSWORD})
        assert pair.status == 200, pair
        return self.with_headers(Authorization=f"Bearer {pair.body['access']}")

    def with_token_of(self, user: User) -> "Client":
        """Use an access token as the user gets it when they sign in, without the sign-in and what it records."""
        return self.with_headers(Authorization=f"Bearer {RefreshToken.for_user(user).access_token}")

    def with_headers(self, **headers: str) -> "Client":
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return dataclasses.replace(self, headers={**self.headers, **named})

    def get(self, path: str) -> Reply:
        return self.send("GET", path)

    def post(self, path: str, body: Any = None) -> Reply:
        """Send bytes as they are, everything else as JSON."""
        return self.send("POST", path, body if isinstance(body, bytes) else json.dumps(body).encode())

    def stream(self, path: str, body: Any) -> list[tuple[str, Any]]:
        """The server-sent events of the response: names and data."""
        return [*self.events(path, body)]

    def events(self, path: str, body: Any) -> Generator[tuple[str, Any], None, None]:
        """Yield the server-sent events as they arrive. Closing the generator closes the connection."""
        with closing(self.event_lines(path, body)) as lines:
            for line in lines:
                if line.startswith("event: "):
                    name, data = line.removeprefix("event: "), json.loads(next(lines).removeprefix("data: "))
                    conformance.check_event(path, name, data)
                    yield name, data

    def event_lines(self, path: str, body: Any) -> Generator[str, None, None]:
        """Yield the lines of the server-sent events as they arrive, comments too."""
        headers = {"Content-Type": "application/json", **self.headers}
        request = urllib.request.Request(self.address + path, json.dumps(body).encode(), headers, method="POST")
        with urllib.request.urlopen(request, timeout=60) as response:
            assert response.headers["Content-Type"] == "text/event-stream"
            for line in response:
                yield line.decode().rstrip("\n")

    def send(self, method: str, path: str, data: bytes | None = None) -> Reply:
        status, headers, content = self._exchange(
            method, path, data, {"Content-Type": "application/json", **self.headers}
        )
        response_headers = {name.lower(): value for name, value in headers.items()}
        conformance.check_response(method, path, status, response_headers, content)
        return Reply(status, response_headers, json.loads(content or b"null"))

    def _exchange(
        self, method: str, path: str, data: bytes | None, headers: dict[str, str]
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Send a request; return the status, headers and body of the response."""
        with _connections.request(self.address, method, path, data, headers) as response:
            return response.status, dict(response.headers.items()), response.read()


@dataclass(frozen=True)
class LocalClient(Client):
    """Sends requests to the application in the same process and transaction: for tests that are not about a server."""

    address: str = ""

    def _exchange(
        self, method: str, path: str, data: bytes | None, headers: dict[str, str]
    ) -> tuple[int, Mapping[str, str], bytes]:
        content_type = headers.pop("Content-Type")
        reply = _local_client().generic(method, path, data or b"", content_type=content_type, headers=headers)
        return reply.status_code, reply.headers, reply.content


@functools.cache
def _local_client() -> django.test.Client:
    """A client for all tests, because a new one loads all middleware. Exceptions of views are a 500, as in a server."""
    return django.test.Client(raise_request_exception=False)


def without_request_id(body: Any) -> Any:
    """An error's body without its request id, in which any two responses differ."""
    error = body["error"] if isinstance(body.get("error"), dict) else body
    error = {**error, "details": {name: value for name, value in error["details"].items() if name != "request_id"}}
    return {"error": error} if isinstance(body.get("error"), dict) else error
