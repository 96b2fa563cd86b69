"""Reads responses of external services within limits.

A response may be slow or endless, redirect, or contain text that cannot be stored.
"""

import contextlib
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any

import httpx2

from ragsite.http import private_networks

# Maximum size of a response, of a line of a stream, and of a response that an asynchronous client reads: that of a
# stream has hundreds of bytes for each word.
MAX_BYTES = 8 * 1024 * 1024
MAX_LINE_BYTES = 1024 * 1024
MAX_ASYNC_BYTES = 100 * 1024 * 1024


class BoundedClient(httpx2.Client):
    """An HTTP client that follows no redirects: questions, passages and keys go to the configured endpoint only.

    It is closed when it is garbage collected.
    """

    def __init__(self, *, timeout: float | None = None, guarded: bool = False) -> None:
        """Create a client. If `guarded`, it refuses to connect to private networks (ragsite.http.private_networks)."""
        self._guarded = guarded
        hooks = {"response": [_close_unless_successful]}
        super().__init__(timeout=timeout, follow_redirects=False, event_hooks=hooks)

    def _init_transport(self, *args: Any, **options: Any) -> httpx2.BaseTransport:
        if self._guarded:
            options["transport"] = private_networks.GuardedTransport()
        else:
            options["verify"] = private_networks.trusted_authorities()
        return super()._init_transport(*args, **options)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


def _close_unless_successful(response: httpx2.Response) -> None:
    """Close a response that is an error: nobody needs its body, and the openai library would read it to its end."""
    if not response.is_success:
        response.close()


async def limit_size(response: httpx2.Response) -> None:
    """End a response of more than MAX_ASYNC_BYTES: libraries read some of them, such as errors, to their end."""
    response.stream = _BoundedStream(response.stream)


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        length = 0
        async for part in self._stream:
            length += len(part)
            if length > MAX_ASYNC_BYTES:
                raise ResponseTooLarge
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


class ResponseTooLarge(ValueError):
    """A response exceeds the limit."""


def read_until(deadline: float, parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the parts as they arrive.

    Args:
        deadline: The time of time.monotonic() at which to stop.
        parts: The parts of a response's body.

    Raises:
        TimeoutError: If the deadline has passed.
    """
    for part in parts:
        if time.monotonic() > deadline:
            raise TimeoutError
        yield part


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
