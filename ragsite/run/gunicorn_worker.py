"""A gunicorn worker with threads that slow clients cannot block (docs/reliability.md).

The event loop reads a request until its headers and a short body are complete; only then does a thread handle it. A
slow client therefore costs a connection, not a thread. Long bodies are read by threads of their own.
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
from gunicorn.errors import AppImportError
from gunicorn.http import errors
from gunicorn.workers.gthread import TConn, ThreadWorker

from ragsite.postgres.compatibility import OutdatedDatabaseError, require_current_database
from ragsite.postgres.roles import RoleError, require_safe_roles

# Time for the headers and a short body to arrive, and for the next bytes of a long body.
ARRIVAL_SECONDS = 20
STALL_SECONDS = 20
# Time for a client to close its end of a finished connection.
CLOSE_SECONDS = 2
# Longer headers are refused. Longer bodies are read by the threads for long bodies.
MAX_HEADER_BYTES = 64 * 1024
MAX_SHORT_BODY_BYTES = 256 * 1024
LONG_BODY_THREADS = 8
# A long body must arrive at this mean rate.
MIN_BYTES_PER_SECOND = 32 * 1024
# The assumed length of a body without Content-Length.
UNKNOWN_LENGTH_BYTES = 64 * 1024 * 1024

# Requests that are invalid or refused before their path is known get the error body of the v3 contract.
_ERRORS: tuple[tuple[type[Exception], int, str, str], ...] = (
    (errors.LimitRequestLine, 414, "URI too long", "The path and query are longer than this server accepts."),
    (errors.LimitRequestHeaders, 431, "Headers too large", "The headers are more or longer than this server accepts."),
    (errors.ExpectationFailed, 417, "Expectation failed", "The only supported value of Expect is `100-continue`."),
    (errors.UnsupportedTransferCoding, 501, "Not implemented", "The only supported Transfer-Encoding is `chunked`."),
    (errors.ParseException, 400, "Bad request", "This is not a valid HTTP request."),
)

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,18})[ \t]*\r\n", re.IGNORECASE)
_TRANSFER_ENCODING = re.compile(rb"\r\ntransfer-encoding:", re.IGNORECASE)
_TOO_MANY_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Connection(TConn):  # type: ignore[misc]  # untyped library
    """A client connection and the part of its next request that the event loop has read.

    Attributes:
        received: the bytes read so far.
        missing_bytes: bytes of the body that have not arrived; None until the headers are complete.
        is_long: a thread for long bodies reads the request.
        deadline: when a long body must be complete, on the monotonic clock.
        drained_bytes: bytes discarded while the connection closes.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.received = bytearray()
        self.missing_bytes: int | None = None
        self.is_long = False
        self.deadline = 0.0
        self.drained_bytes = 0

    def receive(self, data: bytes) -> bool:
        """Store received bytes. Return whether a thread can handle the request now."""
        searched = max(0, len(self.received) - 3)
        self.received += data
        if self.missing_bytes is not None:
            self.missing_bytes -= len(data)
            return self.missing_bytes <= 0
        end = self.received.find(b"\r\n\r\n", searched)
        if end < 0:
            return len(self.received) > MAX_HEADER_BYTES
        head = bytes(self.received[: end + 2])
        length = _LENGTH.search(head)
        declared = UNKNOWN_LENGTH_BYTES if _TRANSFER_ENCODING.search(head) else int(length[1]) if length else 0
        self.missing_bytes = declared - (len(self.received) - end - 4)
        # Only a thread can answer a client that waits for `100 Continue`.
        self.is_long = declared > MAX_SHORT_BODY_BYTES or b"\r\nexpect:" in head.lower()
        self.deadline = time.monotonic() + ARRIVAL_SECONDS + declared / MIN_BYTES_PER_SECOND
        return self.missing_bytes <= 0 or self.is_long

    def init(self) -> None:
        """Prepare the parser, in the thread that handles the request."""
        super().init()
        self.sock.settimeout(STALL_SECONDS)
        headers_too_long = self.missing_bytes is None and len(self.received) > MAX_HEADER_BYTES
        if self.received:
            self.parser.unreader.unread(bytes(self.received))
        self.received.clear()
        self.missing_bytes = None
        if headers_too_long:
            raise errors.LimitRequestHeaders("longer than this server accepts")


class Body:
    """A request's body that reports an invalid chunk as OSError, like a body that ends early.

    Django turns an OSError into UnreadablePostError, which the parsers report as the client's mistake.
    """

    def __init__(self, body: Any) -> None:
        self._body = body

    def __getattr__(self, name: str) -> Any:
        return getattr(self._body, name)

    def read(self, *size: int | None) -> bytes:
        try:
            return bytes(self._body.read(*size))
        except errors.ParseException as error:
            raise OSError("invalid chunk in the request body") from error

    def readline(self, *size: int | None) -> bytes:
        try:
            return bytes(self._body.readline(*size))
        except errors.ParseException as error:
            raise OSError("invalid chunk in the request body") from error


class Worker(ThreadWorker):  # type: ignore[misc]  # untyped library
    """gunicorn's threaded worker, with requests read by the event loop."""

    pending_conns: deque[Any]

    def init_process(self) -> None:
        _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        with contextlib.suppress(ValueError, OSError):  # each connection needs a file descriptor
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))
        self._long_bodies = ThreadPoolExecutor(LONG_BODY_THREADS)
        self._reading: set[Connection] = set()
        self._closing: set[Connection] = set()
        super().init_process()

    def load_wsgi(self) -> None:
        super().load_wsgi()
        try:
            require_current_database()
            require_safe_roles()
        except (OutdatedDatabaseError, RoleError) as error:
            raise AppImportError(str(error)) from None  # gunicorn prints the message and stops

    def accept(self, listener: socket.socket) -> None:
        try:
            client, address = listener.accept()
        except OSError as error:
            if error.errno in _TOO_MANY_FILES:
                self.set_accept_enabled(False)  # until the next round of the loop
            elif error.errno not in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                raise
            return
        self.nr_conns += 1
        self._wait_for_request(Connection(self.cfg, client, address, listener.getsockname()))

    def on_client_socket_readable(self, conn: Connection, client: socket.socket) -> None:
        """Read the next request of a kept-alive connection."""
        self.poller.unregister(client)
        self.keepalived_conns.remove(conn)
        self._wait_for_request(conn)

    def _wait_for_request(self, conn: Connection) -> None:
        conn.sock.setblocking(False)
        conn.timeout = time.monotonic() + ARRIVAL_SECONDS
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_pending_socket_readable, conn))

    def on_pending_socket_readable(self, conn: Connection, client: socket.socket) -> None:
        data = _receive(client)
        if data is None:
            return
        if data and not conn.receive(data):
            return
        self.poller.unregister(client)
        self.pending_conns.remove(conn)
        if conn.received:
            conn.data_ready = True
            self.enqueue_req(conn)
        else:  # the client has closed the connection
            self._drop(conn)

    def enqueue_req(self, conn: Connection) -> None:
        pool = self.tpool
        if conn.is_long:
            pool = self._long_bodies
            self._reading.add(conn)
        future = pool.submit(self.handle, conn)
        future.add_done_callback(lambda done: self.method_queue.defer(self.finish_request, conn, done))

    def handle_request(self, req: Any, conn: Connection) -> Any:
        req.body = Body(req.body)
        return super().handle_request(req, conn)

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: Exception) -> None:
        response = next((response for kind, *response in _ERRORS if isinstance(exc, kind)), None)
        # An invalid response header is the application's mistake, not the client's.
        if response is None or isinstance(exc, errors.InvalidResponseHeader | errors.InvalidResponseHeaderName):
            super().handle_error(req, client, addr, exc)
            return
        status, title, message = response
        self.log.warning("request_refused %s %s", status, type(exc).__name__)
        body = json.dumps({"error": title, "message": message, "details": {}}).encode()
        head = f"HTTP/1.1 {status} {title}\r\nConnection: close\r\nContent-Type: application/json\r\n"
        with contextlib.suppress(OSError):
            util.write_nonblock(client, f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    def finish_request(self, conn: Connection, future: Any) -> None:
        self._reading.discard(conn)
        conn.is_long = False
        is_kept = not future.cancelled() and not future.exception() and bool(future.result())
        # The part of the next request that the thread has already read.
        next_request = conn.parser.unreader.take_buffered() if is_kept else b""
        if not is_kept:
            self._close_gracefully(conn)
        elif not next_request:
            super().finish_request(conn, future)
        elif conn.receive(next_request):
            self.enqueue_req(conn)
        else:
            self._wait_for_request(conn)

    def _close_gracefully(self, conn: Connection) -> None:
        """Close after the client has, without occupying a thread (RFC 9112, 9.6: else the response may be lost)."""
        try:
            conn.sock.shutdown(socket.SHUT_WR)
            conn.sock.setblocking(False)
            self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._on_closing_socket_readable, conn))
        except (OSError, ValueError):
            self._drop(conn)
            return
        conn.timeout = time.monotonic() + CLOSE_SECONDS
        self._closing.add(conn)

    def _on_closing_socket_readable(self, conn: Connection, client: socket.socket) -> None:
        data = _receive(client)
        if data is None:
            return
        conn.drained_bytes += len(data)
        if not data or conn.drained_bytes > MAX_SHORT_BODY_BYTES:
            self._finish_closing(conn)

    def _finish_closing(self, conn: Connection) -> None:
        self._closing.discard(conn)
        self.poller.unregister(conn.sock)
        self._drop(conn)

    def _drop(self, conn: Connection) -> None:
        self.nr_conns -= 1
        conn.close()

    def murder_pending(self) -> None:
        """End requests that arrive too slowly. gunicorn calls this at least once a second.

        A thread that reads a body past its deadline sees the body end. A stopping worker drops connections without a
        started request.
        """
        if not self.alive:
            self.pending_conns = deque(sorted(self.pending_conns, key=lambda connection: bool(connection.received)))
            for conn in [conn for conn in self.pending_conns if not conn.received]:
                conn.timeout = 0
        super().murder_pending()
        now = time.monotonic()
        for conn in [conn for conn in self._closing if conn.timeout < now]:
            self._finish_closing(conn)
        for conn in [conn for conn in self._reading if conn.deadline < now]:
            self._reading.discard(conn)
            with contextlib.suppress(OSError):
                conn.sock.shutdown(socket.SHUT_RD)

    def handle_quit(self, sig: int, frame: Any) -> None:
        self._long_bodies.shutdown(wait=False)
        super().handle_quit(sig, frame)


def _receive(client: socket.socket) -> bytes | None:
    """Read what has arrived: empty if the client has closed the connection, None if nothing has arrived."""
    try:
        return client.recv(64 * 1024)
    except (BlockingIOError, InterruptedError):
        return None
    except OSError:
        return b""
