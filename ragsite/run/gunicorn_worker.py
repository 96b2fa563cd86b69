"""gunicorn's worker with threads, which no client can keep waiting for its own slowness (docs/reliability.md).

A thread is given to a request that has arrived: its headers, and a body of ordinary length with them. Until then the
event loop reads, which costs a connection and nothing else. Longer bodies have threads of their own.
"""

import contextlib
import errno
import json
import re
import resource
import selectors
import socket
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from gunicorn import util
from gunicorn.http import errors
from gunicorn.workers.gthread import TConn, ThreadWorker

# Seconds for the headers and for a short body to arrive, and for the next bytes of a longer one.
ARRIVAL_SECONDS = 20
STALL_SECONDS = 20
# For a client to close its end of a connection that is over.
LEAVING_SECONDS = 2
# Bytes: more headers are refused; a longer body is read by a thread of the few.
MOST_HEAD = 64 * 1024
SHORT_BODY = 256 * 1024
# Threads for long bodies, and how fast these have to come: bytes a second in the mean.
LONG_BODY_THREADS = 8
SLOWEST = 32 * 1024
# Of a body whose length nobody has said.
UNKNOWN_LENGTH = 64 * 1024 * 1024

# What is no request at all, or one that is refused before anybody knows its path: v3's shape of an error.
_REFUSALS: tuple[tuple[type[Exception], int, str, str], ...] = (
    (errors.LimitRequestLine, 414, "URI too long", "The path and its query are longer than this server reads."),
    (errors.LimitRequestHeaders, 431, "Headers too large", "The headers are more, or longer, than this server reads."),
    (errors.ExpectationFailed, 417, "Expectation failed", "Of Expect, only `100-continue` is known here."),
    (errors.UnsupportedTransferCoding, 501, "Not implemented", "Of Transfer-Encoding, only `chunked` is known here."),
    (errors.ParseException, 400, "Bad request", "This is not a valid HTTP request."),
)

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,18})[ \t]*\r\n", re.IGNORECASE)
_PIECES = re.compile(rb"\r\ntransfer-encoding:", re.IGNORECASE)
_NO_MORE_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Connection(TConn):
    """arrived: what the event loop has read of the next request. deadline: when a long body must be there."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.arrived = bytearray()
        self.missing: int | None = None  # bytes of the body that are still to come, once the headers are there
        self.is_long = False
        self.deadline = 0.0
        self.drained = 0

    def take(self, data: bytes) -> bool:
        """Whether the request is complete, or has so much of it arrived that a thread has to see to it."""
        seen = max(0, len(self.arrived) - 3)
        self.arrived += data
        if self.missing is not None:
            self.missing -= len(data)
            return self.missing <= 0
        end = self.arrived.find(b"\r\n\r\n", seen)
        if end < 0:
            return len(self.arrived) > MOST_HEAD
        head = bytes(self.arrived[: end + 2])
        length = _LENGTH.search(head)
        declared = UNKNOWN_LENGTH if _PIECES.search(head) else int(length[1]) if length else 0
        self.missing = declared - (len(self.arrived) - end - 4)
        # Who asks first whether to send it (Expect) is answered by a thread.
        self.is_long = declared > SHORT_BODY or b"\r\nexpect:" in head.lower()
        self.deadline = time.monotonic() + ARRIVAL_SECONDS + declared / SLOWEST
        return self.missing <= 0 or self.is_long

    def init(self) -> None:
        """In its thread, before each request."""
        super().init()
        self.sock.settimeout(STALL_SECONDS)
        too_much = self.missing is None and len(self.arrived) > MOST_HEAD
        if self.arrived:
            self.parser.unreader.unread(bytes(self.arrived))
        self.arrived.clear()
        self.missing = None
        if too_much:
            raise errors.LimitRequestHeaders("more than this server reads")


class Body:
    """A request's body, in which a piece that is none is what a body that breaks off is: an OSError, which Django knows
    as UnreadablePostError and the parsers as the client's mistake."""

    def __init__(self, body: Any) -> None:
        self._body = body

    def __getattr__(self, name: str) -> Any:
        return getattr(self._body, name)

    def read(self, *size: int | None) -> bytes:
        try:
            return self._body.read(*size)
        except errors.ParseException as error:
            raise OSError("the body is not as it was announced") from error

    def readline(self, *size: int | None) -> bytes:
        try:
            return self._body.readline(*size)
        except errors.ParseException as error:
            raise OSError("the body is not as it was announced") from error


class Worker(ThreadWorker):
    pending_conns: deque[Any]

    def init_process(self) -> None:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        with contextlib.suppress(ValueError, OSError):  # a connection is a file
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        self._long_bodies = ThreadPoolExecutor(LONG_BODY_THREADS)
        self._expected: set[Connection] = set()
        self._leaving: set[Connection] = set()
        super().init_process()

    def accept(self, listener: socket.socket) -> None:
        try:
            client, address = listener.accept()
        except OSError as error:
            if error.errno in _NO_MORE_FILES:
                self.set_accept_enabled(False)  # until the loop comes by again
            elif error.errno not in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                raise
            return
        self.nr_conns += 1
        self._await(Connection(self.cfg, client, address, listener.getsockname()))

    def on_client_socket_readable(self, conn: Connection, client: socket.socket) -> None:
        """The next request on a connection that was kept."""
        self.poller.unregister(client)
        self.keepalived_conns.remove(conn)
        self._await(conn)

    def _await(self, conn: Connection) -> None:
        conn.sock.setblocking(False)
        conn.timeout = time.monotonic() + ARRIVAL_SECONDS
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_pending_socket_readable, conn))

    def on_pending_socket_readable(self, conn: Connection, client: socket.socket) -> None:
        try:
            data = client.recv(64 * 1024)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if data and not conn.take(data):
            return
        self.poller.unregister(client)
        self.pending_conns.remove(conn)
        if conn.arrived:
            conn.data_ready = True
            self.enqueue_req(conn)
        else:  # they have left
            self._forget(conn)

    def enqueue_req(self, conn: Connection) -> None:
        pool = self.tpool
        if conn.is_long:
            pool = self._long_bodies
            self._expected.add(conn)
        future = pool.submit(self.handle, conn)
        future.add_done_callback(lambda done: self.method_queue.defer(self.finish_request, conn, done))

    def handle_request(self, req: Any, conn: Connection) -> Any:
        req.body = Body(req.body)
        return super().handle_request(req, conn)

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: Exception) -> None:
        refusal = next((rest for kind, *rest in _REFUSALS if isinstance(exc, kind)), None)
        # A header that the application has written is its own mistake.
        if refusal is None or isinstance(exc, errors.InvalidResponseHeader | errors.InvalidResponseHeaderName):
            super().handle_error(req, client, addr, exc)
            return
        status, title, message = refusal
        self.log.warning("request_refused %s %s", status, type(exc).__name__)
        body = json.dumps({"error": title, "message": message, "details": {}}).encode()
        head = f"HTTP/1.1 {status} {title}\r\nConnection: close\r\nContent-Type: application/json\r\n"
        with contextlib.suppress(OSError):
            util.write_nonblock(client, f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    def finish_request(self, conn: Connection, future: Any) -> None:
        self._expected.discard(conn)
        conn.is_long = False
        is_kept = not future.cancelled() and not future.exception() and bool(future.result())
        # What the thread has read of the next request already.
        ahead = conn.parser.unreader.take_buffered() if is_kept else b""
        if not is_kept:
            self._let_leave(conn)
        elif not ahead:
            super().finish_request(conn, future)
        elif conn.take(ahead):
            self.enqueue_req(conn)
        else:
            self._await(conn)

    def _let_leave(self, conn: Connection) -> None:
        """Wait for the client's end (RFC 9112, 9.6: else it may lose the answer) without a thread."""
        try:
            conn.sock.shutdown(socket.SHUT_WR)
            conn.sock.setblocking(False)
            self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._on_leaving, conn))
        except (OSError, ValueError):
            self._forget(conn)
            return
        conn.timeout = time.monotonic() + LEAVING_SECONDS
        self._leaving.add(conn)

    def _on_leaving(self, conn: Connection, client: socket.socket) -> None:
        try:
            data = client.recv(64 * 1024)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        conn.drained += len(data)
        if not data or conn.drained > SHORT_BODY:
            self._see_off(conn)

    def _see_off(self, conn: Connection) -> None:
        self._leaving.discard(conn)
        self.poller.unregister(conn.sock)
        self._forget(conn)

    def _forget(self, conn: Connection) -> None:
        self.nr_conns -= 1
        conn.close()

    def murder_pending(self) -> None:
        """Called every second at least. Whoever waits for a body that comes too slowly is told that it has ended. A
        worker that stops waits for no request that has not begun."""
        if not self.alive:
            self.pending_conns = deque(sorted(self.pending_conns, key=lambda each: bool(each.arrived)))
            for conn in [each for each in self.pending_conns if not each.arrived]:
                conn.timeout = 0
        super().murder_pending()
        now = time.monotonic()
        for conn in [each for each in self._leaving if each.timeout < now]:
            self._see_off(conn)
        for conn in [each for each in self._expected if each.deadline < now]:
            self._expected.discard(conn)
            with contextlib.suppress(OSError):
                conn.sock.shutdown(socket.SHUT_RD)

    def handle_quit(self, sig: int, frame: Any) -> None:
        self._long_bodies.shutdown(wait=False)
        super().handle_quit(sig, frame)
