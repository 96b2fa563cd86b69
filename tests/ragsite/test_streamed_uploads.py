"""What the real web server does with long bodies: its memory stays bounded, and a body without a length has an end."""

import http.client
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.conf import settings
from django.db import connection

from rag.models import Original
from tests.support.factories import World

MB = 1024 * 1024
PIECE = 64 * 1024


class Web:
    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.port = port
        self._master = psutil.Process(process.pid)

    def memory(self) -> int:
        """What its processes do not share with one another, in bytes."""
        return sum(child.memory_full_info().uss for child in self._master.children())

    def send(self, key: str, head: str, pieces: Iterator[bytes], *, ends: bool = False) -> tuple[int, Any]:
        """The status and the body of the answer, though it may come before everything is sent. ends: nothing more
        follows, and the server is told so."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connected:
            start = f"POST /api/rag/ingest HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\nConnection: close\r\n"
            connected.sendall(start.encode() + head.encode() + b"\r\n\r\n")
            for piece in pieces:
                try:
                    connected.sendall(piece)
                except OSError:
                    break
            if ends:
                connected.shutdown(socket.SHUT_WR)
            answer = http.client.HTTPResponse(connected)
            answer.begin()
            with answer:
                return answer.status, json.loads(answer.read())


@pytest.fixture
def web(transactional_db: None, tmp_path: Path, eventually: Callable[..., Any]) -> Iterator[Web]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.support.worker_settings",
        "TEST_DATABASE": str(connection.settings_dict["NAME"]),
        "RAG_STORAGE_FOLDER": str(settings.RAG_STORAGE_FOLDER),
        "RAG_TEMP_FOLDER": str(settings.RAG_TEMP_FOLDER),
        "RAG_MAX_FILE_BYTES": str(100 * MB),
        "RAG_MAX_UPLOAD_BYTES": str(150 * MB),
    }
    command = [sys.executable, "-m", "gunicorn", "ragsite.wsgi", "--bind", f"127.0.0.1:{port}", "--no-control-socket"]
    command += ["--worker-class", "ragsite.run.gunicorn_worker.Worker", "--workers", "1", "--threads", "4"]
    with open(tmp_path / "web.log", "wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        eventually(lambda: _listens(port))
        yield Web(process, port)
    finally:
        process.terminate()
        process.wait(20)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def form(sizes: list[int]) -> Iterator[bytes]:
    yield b'--b\r\nContent-Disposition: form-data; name="dataSourceId"\r\n\r\nlibrary'
    for number, size in enumerate(sizes):
        yield b'\r\n--b\r\nContent-Disposition: form-data; name="f"; filename="%d.txt"\r\n\r\n' % number
        yield from _pieces(size)
    yield b"\r\n--b--\r\n"


def _pieces(size: int) -> Iterator[bytes]:
    piece = (b"zebra " * PIECE)[:PIECE]
    for start in range(0, size, PIECE):
        yield piece[: size - start]


def chunked(pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield b"%x\r\n%b\r\n" % (len(piece), piece)
    yield b"0\r\n\r\n"


FORM = "Content-Type: multipart/form-data; boundary=b\r\n"


def test_long_bodies(web: Web, live_world: World, stored_files: Path) -> None:
    """40 MB of one file, and 40 MB of many, cost the web process a few (measured: 7); with and without a length."""
    live_world.source()
    key = live_world.key("editor", "ingest").secret
    small = [1000] * 3
    assert web.send(key, f"{FORM}Transfer-Encoding: chunked", chunked(form(small)))[0] == 202  # warm
    before = most = web.memory()
    for sizes in ([40 * MB], [MB] * 40):
        length = sum(map(len, form(sizes)))

        def watched(sizes: list[int] = sizes) -> Iterator[bytes]:
            nonlocal most
            for number, piece in enumerate(form(sizes)):
                if number % 50 == 0:
                    most = max(most, web.memory())
                yield piece

        status, job = web.send(key, f"{FORM}Content-Length: {length}", watched())
        assert (status, job["progress"]["documents"]) == (202, len(sizes)), job
        most = max(most, web.memory())
    print(f"memory of the web process rose by {(most - before) / MB:.1f} MB")  # noqa: T201
    assert most - before < 15 * MB
    assert sorted(Original.objects.values_list("size", flat=True)) == [1000] * 3 + [MB] * 40 + [40 * MB]
    # Refused: nothing of it is stored.
    kept = Original.objects.count()
    many = chunked(form([90 * MB, 70 * MB]))
    for head, pieces, words in (
        (f"{FORM}Transfer-Encoding: chunked", many, "RAG_MAX_UPLOAD_BYTES"),
        (f"{FORM}Content-Length: {length}", form([101 * MB]), ""),
        (f"{FORM}Content-Length: {200 * MB}", form(small), "RAG_MAX_UPLOAD_BYTES"),
        (f"{FORM}Transfer-Encoding: chunked", chunked(form([101 * MB])), "RAG_MAX_FILE_BYTES"),
        (
            "Content-Type: application/json\r\nTransfer-Encoding: chunked",
            chunked(_pieces(40 * MB)),
            "RAG_MAX_BODY_BYTES",
        ),
    ):
        status, body = web.send(key, head, pieces)
        if words:
            assert (status, words in body["message"]) == (413, True), body
        else:
            assert status == 400, "a file that is cut off by a wrong length is not taken for whole"
        assert set(body) == {"error", "message", "details"}
    assert Original.objects.count() == kept
    assert sum(path.is_file() for path in stored_files.rglob("*")) == kept
    assert list(settings.RAG_TEMP_FOLDER.iterdir()) == []


def test_bodies_that_are_not_as_announced_are_the_clients_error(web: Web, live_world: World) -> None:
    """Pieces that are none, and a body that breaks off, as JSON and as a form."""
    live_world.source()
    key = live_world.key("editor", "ingest").secret
    for kind in ("Content-Type: application/json\r\n", FORM):
        for head, body in (
            ("Transfer-Encoding: chunked", b"f" * 15 + b"\r\nabc"),
            ("Transfer-Encoding: chunked", b"0" * 100_000 + b"\r\n"),
            ("Transfer-Encoding: chunked", b"x\r\n"),
            ("Content-Length: 100", b'{"text": "'),
            ("Content-Length: 3000000", b'{"text": "'),
        ):
            status, answer = web.send(key, f"{kind}{head}", iter([body]), ends=True)
            assert (status, set(answer)) == (400, {"error", "message", "details"}), (kind, head, body[:20], answer)
