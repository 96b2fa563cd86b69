"""A web server that is asked to stop: health checks fail first, and requests in progress are finished."""

import http.client
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

# The real web server with an application that answers with its path. /slow is answered when the file `go` exists.
PROGRAM = """
import sys
from ragsite.run import web
web._gunicorn = lambda socket: [sys.executable, "-c", sys.argv[2], str(socket), sys.argv[3]]
web.main(sys.argv[1])
"""
APPLICATION = """
import socketserver, sys, time
from pathlib import Path
folder = Path(sys.argv[2])
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        path = self.rfile.readline().split()[1].decode()
        while self.rfile.readline().strip(): pass
        if path == "/slow":
            (folder / "begun").touch()
            while not (folder / "go").exists(): time.sleep(0.02)
        self.wfile.write(b"HTTP/1.0 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (len(path), path.encode()))
class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
Server(sys.argv[1], Handler).serve_forever()
"""


@dataclass
class Server:
    process: "subprocess.Popen[bytes]"
    port: int
    folder: Path

    def get(self, path: str) -> tuple[int, str]:
        """Return the status and body of a response; the status 0 if nobody listens."""
        try:
            return read(self.begin(path))
        except ConnectionError:
            return 0, ""

    def begin(self, path: str) -> http.client.HTTPConnection:
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        client.request("GET", path)
        return client


def read(client: http.client.HTTPConnection) -> tuple[int, str]:
    response = client.getresponse()
    return response.status, response.read().decode()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "RAGSITE_DATA": str(tmp_path), "RAG_DRAIN_SECONDS": "60", "RAG_STOP_SECONDS": "60"}
    command = [sys.executable, "-c", PROGRAM, f"127.0.0.1:{port}", APPLICATION, str(tmp_path)]
    process = subprocess.Popen(command, env=environment)
    yield Server(process, port, tmp_path)
    (tmp_path / "go").touch()
    for _ in range(2):
        process.terminate()
    process.wait(30)


def test_a_server_that_stops_is_not_ready_and_finishes_its_requests(
    server: Server, eventually: Callable[..., Any]
) -> None:
    eventually(lambda: server.get("/healthz")[0] == 200)
    assert server.get("/readyz") == (200, "/readyz")
    slow = server.begin("/slow")
    eventually((server.folder / "begun").exists)

    server.process.terminate()
    eventually(lambda: server.get("/readyz") == (503, '{"status": "stopping"}'))
    assert server.get("/healthz/") == (503, '{"status": "stopping"}')
    assert server.get("/answered") == (200, "/answered"), "until load balancers have noticed, requests are accepted"

    server.process.terminate()  # a second signal does not wait for them
    eventually(lambda: server.get("/refused")[0] == 0)
    assert server.process.poll() is None
    (server.folder / "go").touch()
    assert read(slow) == (200, "/slow")
    assert server.process.wait(30) == 0
