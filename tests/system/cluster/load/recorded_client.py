"""The project's own Python client, which tries refused requests again; each try is recorded."""

import ssl
import time
from collections.abc import Callable
from typing import TypeVar

import httpx2
from ragsite_client import Client, RagsiteError

from tests.system.cluster.verdict import Attempt, Request

_MAX_RETRIES, _TIMEOUT_SECONDS = 8, 20
Result = TypeVar("Result")


class _RecordingTransport(httpx2.HTTPTransport):
    def __init__(self, trust: ssl.SSLContext | None) -> None:
        super().__init__(verify=trust or True)
        self.attempts: list[Attempt] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        started_at, outcome = time.monotonic(), ""
        try:
            response = super().handle_request(request)
            outcome = str(response.status_code)
            return response
        except httpx2.TransportError as error:
            outcome = type(error).__name__
            raise
        finally:
            self.attempts.append(Attempt(started_at, time.monotonic(), outcome))


class RecordedClient(Client):
    """A client whose requests are recorded with all their tries."""

    def __init__(self, requests: list[Request], base_url: str, key: str, trust: ssl.SSLContext | None = None) -> None:
        """Create a client that adds its requests to the list. `trust` knows the certificate of the server."""
        self._transport = _RecordingTransport(trust)
        super().__init__(base_url, key, timeout=_TIMEOUT_SECONDS, max_retries=_MAX_RETRIES, transport=self._transport)
        self._requests = requests

    def do(
        self, operation: str, call: Callable[[], Result], *, raises: tuple[type[Exception], ...] = ()
    ) -> Result | None:
        """Make a call and record it; None if it failed after all tries."""
        self._transport.attempts.clear()
        error = ""
        try:
            return call()
        except RagsiteError as failure:
            if isinstance(failure, raises):
                raise
            error = f"{type(failure).__name__} {failure.status} {failure.code}"
        except httpx2.TransportError as failure:
            error = f"{type(failure).__name__} within a response"
        finally:
            self._requests.append(Request(operation, tuple(self._transport.attempts), error))
        return None
