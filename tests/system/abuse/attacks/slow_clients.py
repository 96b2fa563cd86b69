"""Slow clients: they send little or nothing, send bodies byte by byte, do not read, or do not close."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator

_SECONDS_BETWEEN_SENDS = 0.5


# The server limits the requests in progress of one address; the short requests beside them come from another one.
_ADDRESS = "127.0.0.2"


class SlowClients:
    """Connections that one thread keeps busy. `closed` counts those that the server has ended."""

    def __init__(self, port: int, headers: dict[str, str]) -> None:
        self._port = port
        self._credential = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._clients: list[tuple[socket.socket, bytes]] = []
        self._finished = threading.Event()
        self.opened = self.closed = 0

    def open(self, first: bytes, repeated: bytes, count: int) -> None:
        """Open connections. Each sends `first` immediately, then `repeated` every half second unless it is empty."""
        for _ in range(count):
            client = socket.create_connection(("127.0.0.1", self._port), timeout=10, source_address=(_ADDRESS, 0))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.sendall(first)
            client.setblocking(False)
            self._clients.append((client, repeated))
        self.opened += count

    # The kinds of clients.

    def silent(self, count: int) -> None:
        """Clients that connect and send nothing."""
        self.open(b"", b"", count)

    def headers(self, count: int) -> None:
        """Clients that send headers without end (Slowloris)."""
        self.open(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", b"X-A: b\r\n", count)

    def short_bodies(self, count: int) -> None:
        self.open(self._head("/api/rag/search", 2000) + b'{"query": "', b"a", count)

    def long_bodies(self, count: int) -> None:
        self.open(self._head("/api/rag/ingest", 20_000_000) + b'{"text": "', b"a", count)

    def chunked_bodies(self, count: int) -> None:
        """Clients that send a chunked body without end."""
        head = self._head("/api/rag/ingest", None, "multipart/form-data; boundary=b")
        self.open(head + b"7\r\n--b\r\n\r\n\r\n", b"1\r\na\r\n", count)

    def unread_streams(self, count: int) -> None:
        """Clients that request a stream and do not read it."""
        body = json.dumps({"messages": [{"role": "user", "content": "word " * 1000}], "stream": True}).encode()
        self.open(self._head("/api/chat", len(body)) + body, b"", count)

    def unclosed_connections(self, count: int) -> None:
        """Clients that ask for a closed connection after the response, and do not close their own end."""
        self.open(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", b"", count)

    def _head(self, path: str, length: int | None, content_type: str = "application/json") -> bytes:
        framing = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
        lines = f"{self._credential}Content-Type: {content_type}\r\n{framing}\r\n\r\n"
        return f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{lines}".encode()

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """Send slowly while the block runs; close the connections after it."""
        thread = threading.Thread(target=self._send_repeatedly, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._finished.set()
            thread.join()
            for client, _ in self._clients:
                client.close()

    def _send_repeatedly(self) -> None:
        while not self._finished.wait(_SECONDS_BETWEEN_SENDS):
            open_clients = []
            for client, repeated in self._clients:
                try:
                    if repeated:
                        client.send(repeated)
                    open_clients.append((client, repeated))
                except BlockingIOError:
                    open_clients.append((client, repeated))
                except OSError:
                    self.closed += 1
                    client.close()
            self._clients = open_clients


# The measured time of a request without an answer.
NO_ANSWER_SECONDS = 60.0


def measure_requests(port: int, path: str, count: int) -> list[float]:
    """Send short requests one after the other; return the seconds of each, NO_ANSWER_SECONDS without an answer."""
    times = []
    for _ in range(count):
        started_at = time.monotonic()
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
                client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
                is_answered = client.recv(20).startswith(b"HTTP/1.1 200")
        except OSError:
            is_answered = False
        times.append(time.monotonic() - started_at if is_answered else NO_ANSWER_SECONDS)
    return times
