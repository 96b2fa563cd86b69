"""Clients that take their time: they say hardly anything, send bodies drop by drop, do not read, or do not leave."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator

# Seconds between two drops.
_DROP = 0.5


class SlowClients:
    """Connections that are kept busy by one thread. closed: how many the server has ended."""

    def __init__(self, port: int, headers: dict[str, str]) -> None:
        self._port = port
        self._credential = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._sockets: list[tuple[socket.socket, bytes]] = []
        self._finished = threading.Event()
        self.opened = self.closed = 0

    def open(self, first: bytes, drop: bytes, count: int) -> None:
        """Each sends `first`, and then `drop` every half a second; nothing if that is empty."""
        for _ in range(count):
            client = socket.create_connection(("127.0.0.1", self._port), timeout=10)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.sendall(first)
            client.setblocking(False)
            self._sockets.append((client, drop))
        self.opened += count

    def nothing(self, count: int) -> None:
        self.open(b"", b"", count)

    def headers(self, count: int) -> None:
        """slowloris."""
        self.open(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", b"X-A: b\r\n", count)

    def short_bodies(self, count: int) -> None:
        self.open(self._head("/api/rag/search", 2000) + b'{"query": "', b"a", count)

    def long_bodies(self, count: int) -> None:
        self.open(self._head("/api/rag/ingest", 20_000_000) + b'{"text": "', b"a", count)

    def pieces(self, count: int) -> None:
        """A body in pieces, without end."""
        head = self._head("/api/rag/ingest", None, "multipart/form-data; boundary=b")
        self.open(head + b"7\r\n--b\r\n\r\n\r\n", b"1\r\na\r\n", count)

    def readers(self, count: int) -> None:
        """They ask for a stream and do not read it."""
        body = json.dumps({"messages": [{"role": "user", "content": "word " * 1000}], "stream": True}).encode()
        self.open(self._head("/api/chat", len(body)) + body, b"", count)

    def stayers(self, count: int) -> None:
        """They are answered, the connection is to be closed, and they do not close it."""
        self.open(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", b"", count)

    def _head(self, path: str, length: int | None, kind: str = "application/json") -> bytes:
        framing = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{self._credential}Content-Type: {kind}\r\n{framing}\r\n\r\n"
        return head.encode()

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        thread = threading.Thread(target=self._drop, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._finished.set()
            thread.join()
            for client, _ in self._sockets:
                client.close()

    def _drop(self) -> None:
        while not self._finished.wait(_DROP):
            left = []
            for client, drop in self._sockets:
                try:
                    if drop:
                        client.send(drop)
                    left.append((client, drop))
                except BlockingIOError:
                    left.append((client, drop))
                except OSError:
                    self.closed += 1
                    client.close()
            self._sockets = left


# Seconds that stand for a request without an answer.
NO_ANSWER_SECONDS = 60.0


def answer_times(port: int, path: str, count: int) -> list[float]:
    """Seconds of some short requests one after the other; 60 for one without an answer."""
    times = []
    for _ in range(count):
        begun = time.monotonic()
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
                client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
                good = client.recv(20).startswith(b"HTTP/1.1 200")
        except OSError:
            good = False
        times.append(time.monotonic() - begun if good else NO_ANSWER_SECONDS)
    return times
