"""Reads responses of external services within limits.

A response may be slow or endless, redirect, or contain text that cannot be stored.
"""

import contextlib
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2

from ragsite.http.outbound_connections import BackendTransport, Deadline, DeadlineBackend

# Maximum size of a response, of a stream, which has hundreds of bytes for each word, of a line of it, and of a response
# that a library reads: empty lists of 7 MB took ten seconds of CPU time and 350 MB of memory, whatever the deadline.
MAX_BYTES = 8 * 1024 * 1024
MAX_STREAM_BYTES = 100 * 1024 * 1024
MAX_LINE_BYTES = 1024 * 1024
MAX_LIBRARY_BYTES = 1024 * 1024
# 46 KB, compressed three times, took 11 seconds of CPU time whatever the deadline. So bodies are read as they were sent
# (`iter_raw`), and a compressed one cannot be read.
UNCOMPRESSED = {"Accept-Encoding": "identity"}


class BoundedClient(httpx2.Client):
    """An HTTP client whose requests end in time, headers and body included.

    It follows no redirects and keeps no cookies: questions, passages and keys go to the configured endpoint only. It is
    closed when it is garbage collected.
    """

    def __init__(self, *, timeout: float | None = None, backend: DeadlineBackend | None = None) -> None:
        """Create a client.

        Args:
            timeout: The seconds that each request may take; None if each is given its own. A Deadline is for all
                requests together.
            backend: What connects, if the operator has not set the address (ragsite.http.outbound_connections).
        """
        self._backend = backend or DeadlineBackend()
        hooks: dict[str, list[Callable[..., None]]] = {
            "request": [_begin_deadline],
            "response": [_close_unless_successful],
        }
        super().__init__(
            timeout=timeout, follow_redirects=False, event_hooks=hooks, headers=UNCOMPRESSED, cookies=_no_cookies()
        )

    def _init_transport(self, *args: object, **options: object) -> httpx2.BaseTransport:
        return BackendTransport(self._backend)

    def _init_proxy_transport(self, proxy: httpx2.Proxy, *args: object, **options: object) -> httpx2.BaseTransport:
        return BackendTransport(DeadlineBackend(), proxy=proxy)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


def _no_cookies() -> CookieJar:
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))


def _begin_deadline(request: httpx2.Request) -> None:
    """Make each timeout of a request the deadline of the whole request, unless it is one."""
    timeouts: dict[str, float | None] = request.extensions.get("timeout", {})
    total = timeouts.get("read")
    deadlines = {
        name: seconds if seconds is None or isinstance(seconds, Deadline) else Deadline(seconds, total=total)
        for name, seconds in timeouts.items()
    }
    request.extensions = {**request.extensions, "timeout": deadlines}


def _close_unless_successful(response: httpx2.Response) -> None:
    """Close a response that is an error: nobody needs its body, and the openai library would read it to its end."""
    if not response.is_success:
        response.close()


def limit_responses(max_bytes: int) -> Callable[[httpx2.Response], Awaitable[None]]:
    """Return a hook of an asynchronous client that ends compressed responses, and those of more bytes.

    Libraries read some responses, such as errors, to their end.
    """

    async def limit(response: httpx2.Response) -> None:
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise httpx2.DecodingError("The server compresses although it was asked not to.")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _BoundedStream(response.stream, max_bytes)

    return limit


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, max_bytes: int) -> None:
        self._stream, self._max_bytes = stream, max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        length = 0
        async for part in self._stream:
            length += len(part)
            if length > self._max_bytes:
                raise ResponseTooLarge
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


class ResponseTooLarge(ValueError):
    """A response exceeds the limit."""


def read_all(parts: Iterable[bytes], *, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the whole body.

    Raises:
        ResponseTooLarge: If the body has more than `max_bytes` bytes.
    """
    content = bytearray()
    for part in parts:
        content += part
        if len(content) > max_bytes:
            raise ResponseTooLarge
    return bytes(content)


async def read_events(parts: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Yield the data of server-sent events that have one line each, as events with JSON do.

    Raises:
        ResponseTooLarge: If a line has more than MAX_LINE_BYTES bytes.
    """
    buffer = bytearray()
    async for part in parts:
        buffer += part
        if b"\n" in part:
            *lines, buffer = buffer.split(b"\n")
            for line in lines:
                if line.startswith(b"data:"):
                    yield bytes(line[5:]).strip()
        if len(buffer) > MAX_LINE_BYTES:
            raise ResponseTooLarge


def remove_unstorable(text: str) -> str:
    """Return the text without NUL and lone surrogates, which JSON allows and PostgreSQL and UTF-8 do not."""
    return text.encode(errors="replace").decode().replace("\0", "")
