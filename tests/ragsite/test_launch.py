"""make run, as a person meets it: one command, a product, Ctrl-C; and everything that can be in its way."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.http import Client

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Product:
    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self.address = f"http://127.0.0.1:{port}"
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> str:
        """Everything printed up to the end of the greeting."""
        self.process = self.spawn()
        assert self.process.stdout is not None
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if "json.tool" in line:
                return "".join(lines)
        pytest.fail("it ended: " + "".join(lines) + (self.process.stderr.read() if self.process.stderr else ""))

    def spawn(self) -> subprocess.Popen[str]:
        hidden = {"DATABASE_URL", "REDIS_URL", "SECRET_KEY", "RAG_LOCAL", "DJANGO_SETTINGS_MODULE"}
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        environment |= {"RAGSITE_DATA": str(self.folder), "PORT": str(self.port), "PYTHONUNBUFFERED": "1"}
        return subprocess.Popen(
            [sys.executable, "-m", "ragsite.run.launch"], cwd=ROOT, env=environment, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def family(self) -> list[psutil.Process]:
        """Every process that works in the product's folder, by its command line or environment."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                mine = process.environ().get("RAGSITE_DATA") == str(self.folder)
                if process.pid != os.getpid() and (mine or str(self.folder) in " ".join(process.cmdline())):
                    found.append(process)
        return found

    def interrupt(self) -> str:
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        output, errors = self.process.communicate(timeout=60)
        return output + errors


@pytest.fixture
def product(tmp_path: Path) -> Iterator[Product]:
    running = Product(tmp_path / "run", free_port())
    yield running
    if running.process and running.process.poll() is None:
        running.interrupt()
    for process in running.family():
        process.kill()


def test_from_nothing_to_a_search_and_back_and_through_a_crash(product: Product) -> None:
    greeting = product.start()
    for name in ("owner@acme.example", "editor@acme.example", "member@acme.example", "member@globex.example"):
        assert name in greeting
    assert f"{product.address}/api/docs" in greeting
    with urllib.request.urlopen(f"{product.address}/api/docs", timeout=10) as page:
        assert page.status == 200
    assert search(product, "member@acme.example")
    assert oct((product.folder / "local.env").stat().st_mode)[-3:] == "600"

    # A second one in the same folder is told so.
    output, errors = product.spawn().communicate(timeout=30)
    assert "already runs" in errors
    assert "Traceback" not in output + errors

    # Killed without a chance to clean up, it leaves processes; the next run replaces them.
    assert product.process is not None
    before = {process.pid for process in product.family()}
    product.process.kill()
    product.process.communicate()
    product.start()
    assert search(product, "member@acme.example"), "the data is kept"
    web_and_worker = [process for process in product.family() if process.pid in before and "python" in process.name()]
    assert web_and_worker == []

    ended = product.interrupt()
    assert "Your data is kept" in ended
    assert "Traceback" not in ended
    assert product.process.returncode == 0
    assert product.family() == []


def search(product: Product, email: str) -> list[str]:
    client = Client(product.address)
    pair = client.post("/api/auth/token", {"email": email, "password": "ragsite-demo"}).body
    signed_in = client.with_headers(Authorization=f"Bearer {pair['access']}")
    reply = signed_in.post("/api/rag/search", {"query": "How do I send a document?", "topK": 20})
    assert reply.status == 200
    return [result["metadata"]["source"] for result in reply.body["results"]]


def test_a_taken_port_is_told_in_a_sentence(product: Product) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", product.port))
        other.listen()
        output, errors = product.spawn().communicate(timeout=30)
    assert f"Port {product.port} is taken" in errors
    assert "Traceback" not in output + errors
    assert product.family() == []
