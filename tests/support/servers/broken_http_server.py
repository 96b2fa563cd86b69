"""An outside service that breaks HTTP. tests.support.servers.provider_server only gives wrong answers."""

import contextlib
import socketserver
import threading
from collections.abc import Callable, Iterator

Send = Callable[[bytes], object]


class BrokenHttpServer:
    """Reads a request, then does what the test configures. `gone` is set when its client has closed the connection."""

    def __init__(self) -> None:
        self.behave: Callable[[Send], None] = lambda send: None
        self.requests: list[bytes] = []
        self.gone = threading.Event()
        self.stop = threading.Event()
        upstream = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                head = b""
                while line := self.rfile.readline().strip():
                    head += line.lower() + b"\n"
                length = int(head.partition(b"content-length:")[2].split(b"\n")[0] or 0)
                upstream.requests.append(head + self.rfile.read(length))
                try:
                    upstream.behave(self.wfile.write)
                except OSError:
                    upstream.gone.set()

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def without_end(self, head: bytes, part: bytes, *, every: float = 0.0) -> None:
        """Send the head, then the part again and again, after a pause of this many seconds."""

        def behave(send: Send) -> None:
            send(head)
            while not self.stop.wait(every):
                send(part)

        self.behave = behave

    def once(self, *parts: bytes) -> None:
        """Send the parts, then close the connection."""

        def behave(send: Send) -> None:
            for part in parts:
                send(part)

        self.behave = behave

    @contextlib.contextmanager
    def running(self) -> Iterator["BrokenHttpServer"]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            self.stop.set()
            self._server.shutdown()
            self._server.server_close()
            thread.join()
