"""`make run` from the first start to Ctrl-C, a crash, and what can prevent a start."""

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from rag.services.operations import demo_data
from tests.support.http import Client

ROOT = Path(__file__).parents[3]


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
        """Start it; return what it prints up to the end of the greeting."""
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
        environment["RAG_DEMO_FOLDER"] = str(self.pages())
        return subprocess.Popen(
            [sys.executable, "-m", "ragsite.run.launch"], cwd=ROOT, env=environment, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def pages(self) -> Path:
        """Two pages of the demo data: to ingest them all would take longer than the rest of the test."""
        folder = self.folder.with_name("docs")
        for name in ("README.md", "send-documents.md"):
            (folder / "user").mkdir(parents=True, exist_ok=True)
            shutil.copy(demo_data.DOCS / "user" / name, folder / "user" / name)
        return folder

    def processes(self) -> list[psutil.Process]:
        """The processes whose command line or environment names the product's folder."""
        processes = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                is_own = process.environ().get("RAGSITE_DATA") == str(self.folder)
                if process.pid != os.getpid() and (is_own or str(self.folder) in " ".join(process.cmdline())):
                    processes.append(process)
        return processes

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
    for process in running.processes():
        process.kill()


def test_start_search_crash_restart_and_stop(product: Product) -> None:
    greeting = product.start()
    for name in ("owner@acme", "editor@acme", "member@acme", "member@globex", "operator@acme"):
        assert f"{name}.example" in greeting
    assert f"{product.address}/api/docs" in greeting
    assert "System check" not in greeting
    with urllib.request.urlopen(f"{product.address}/api/docs", timeout=10) as page:
        assert page.status == 200
    assert search(product, "member@acme.example")
    assert oct((product.folder / "local.env").stat().st_mode)[-3:] == "600"

    commands = [" ".join(process.cmdline()) for process in product.processes()]
    for queue in ("ingestion", "background", "maintenance"):
        assert any(f"--queues {queue} " in command for command in commands), queue

    # A second start in the same folder is refused.
    output, errors = product.spawn().communicate(timeout=30)
    assert "already runs" in errors
    assert "Traceback" not in output + errors

    # If it is killed, its processes remain. The next start replaces them.
    assert product.process is not None
    pids_before = {process.pid for process in product.processes()}
    product.process.kill()
    product.process.communicate()
    product.start()
    assert search(product, "member@acme.example"), "the data is kept"
    old_processes = [
        process for process in product.processes() if process.pid in pids_before and "python" in process.name()
    ]
    assert old_processes == []

    output = product.interrupt()
    assert "Your data is kept" in output
    assert "Traceback" not in output
    assert product.process.returncode == 0
    assert product.processes() == []


def test_each_demo_source_has_pages_of_the_documentation() -> None:
    for source in demo_data.SOURCES:
        assert [file for pattern in source.pages for file in demo_data.DOCS.glob(pattern)], source.slug


def search(product: Product, email: str) -> list[str]:
    client = Client(product.address)
    pair = client.post("/api/auth/token", {"email": email, "password": "ragsite-demo"}).body
    signed_in = client.with_headers(Authorization=f"Bearer {pair['access']}")
    reply = signed_in.post("/api/rag/search", {"query": "How do I send a document?", "topK": 20})
    assert reply.status == 200
    return [result["metadata"]["source"] for result in reply.body["results"]]


def test_a_taken_port_is_reported_in_a_sentence(product: Product) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", product.port))
        other.listen()
        output, errors = product.spawn().communicate(timeout=30)
    assert f"Port {product.port} is taken" in errors
    assert "Traceback" not in output + errors
    assert product.processes() == []


# A process that does not end when it is terminated.
STUBBORN = """
import signal
signal.signal(signal.SIGTERM, lambda *_: print("terminated", flush=True))
print("ready", flush=True)
while True:
    signal.pause()
"""


@pytest.fixture
def leftover() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def test_ctrl_c_while_processes_of_a_killed_launcher_are_stopped(
    product: Product, leftover: subprocess.Popen[str]
) -> None:
    product.folder.mkdir()
    record = product.folder / "children.json"
    record.write_text(json.dumps([[leftover.pid, psutil.Process(leftover.pid).create_time()]]))
    product.process = product.spawn()
    assert leftover.stdout is not None
    terminated, _, _ = select.select([leftover.stdout], [], [], 60)
    assert terminated, "the launcher does not stop the process"
    output = product.interrupt()
    assert "Stopping" in output
    assert "Traceback" not in output
    assert product.process.returncode == 0
    assert json.loads(record.read_text())[0][0] == leftover.pid, "the next launcher stops the process"
