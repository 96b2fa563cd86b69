"""What an outside service sends, read with bounds: it may trickle, never end, point elsewhere, or send what nobody can
store."""

import contextlib
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any

import httpx2

from . import outbound

# Of one answer, and of one line of a stream.
MOST_BYTES = 8 * 1024 * 1024
MOST_LINE_BYTES = 1024 * 1024


class Client(httpx2.Client):
    """Follows no redirect, whatever is usual: questions, passages and keys go to the configured endpoint and nowhere
    else. Closed with whoever used it."""

    def __init__(self, *, timeout: float | None = None, guarded: bool = False) -> None:
        """guarded: connects to nothing within private networks (rag.providers.http.outbound)."""
        self._guarded = guarded
        super().__init__(timeout=timeout, follow_redirects=False)

    def _init_transport(self, *args: Any, **options: Any) -> httpx2.BaseTransport:
        if self._guarded:
            options["transport"] = outbound.Transport()
        return super()._init_transport(*args, **options)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


class TooMuch(ValueError):
    """More than any answer has."""


def until(deadline: float, parts: Iterable[bytes]) -> Iterator[bytes]:
    """The parts as they come. deadline: of time.monotonic(). Raises TimeoutError once it has passed."""
    for part in parts:
        if time.monotonic() > deadline:
            raise TimeoutError
        yield part


def whole(parts: Iterable[bytes]) -> bytes:
    """All of it. Raises TooMuch beyond MOST_BYTES."""
    content = bytearray()
    for part in parts:
        content += part
        if len(content) > MOST_BYTES:
            raise TooMuch
    return bytes(content)


async def events_as_they_come(parts: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The data of server-sent events, each of one line, as JSON is sent. Raises TooMuch beyond MOST_LINE_BYTES."""
    rest = bytearray()
    async for part in parts:
        rest += part
        if b"\n" in part:
            *lines, rest = rest.split(b"\n")
            for line in lines:
                if line.startswith(b"data:"):
                    yield bytes(line[5:]).strip()
        if len(rest) > MOST_LINE_BYTES:
            raise TooMuch


def storable(text: str) -> str:
    """The text without NUL and half characters, which JSON can write and neither PostgreSQL nor UTF-8 can."""
    return text.encode(errors="replace").decode().replace("\0", "")
