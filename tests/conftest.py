"""What tests share: a world with two organisations, real HTTP against a real server, and a real Celery worker."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from celery import current_app
from django.conf import settings
from django.db import connection
from django.test import TransactionTestCase
from pytest_django.live_server_helper import LiveServer

from ragsite.postgres import identity
from ragsite.settings.files import in_folder
from tests.support.database import empty
from tests.support.factories import World
from tests.support.http import Client
from tests.support.provider_server import ProviderServer

# The test databases are this process's to make and to empty; what tests call runs as it does in a worker.
identity.run_process_as(identity.OWNER)


@pytest.fixture(autouse=True)
def as_worker() -> Iterator[None]:
    with identity.run_as(identity.WORKER):
        yield


@pytest.fixture(scope="session", autouse=True)
def emptied_quickly() -> None:
    """After each test that commits."""
    case: Any = TransactionTestCase
    case._fixture_teardown = lambda self: empty()


@pytest.fixture
def world(db: None) -> World:
    """Two organisations with people of every role."""
    return World.found()


@pytest.fixture(autouse=True)
def stored_files(settings: Any, tmp_path: Path) -> Path:
    """The storage of this test alone, and its temporary folder beside it."""
    folder, temporary = tmp_path / "files", tmp_path / "tmp"
    temporary.mkdir()
    settings.STORAGES = {**settings.STORAGES, "default": in_folder(folder)}
    settings.RAG_STORAGE_FOLDER, settings.RAG_TEMP_FOLDER = folder, temporary
    settings.FILE_UPLOAD_TEMP_DIR = str(temporary)
    return folder


@pytest.fixture
def live_world(transactional_db: None) -> World:
    """The same, committed: for tests in which other processes take part."""
    return World.found()


@pytest.fixture
def api(live_server: LiveServer, live_world: World) -> Callable[..., Client]:
    """api() is an anonymous client, api("editor") one signed in as that user of the world, by their password."""

    def client(name: str = "") -> Client:
        anonymous = Client(live_server.url)
        return anonymous.signed_in(live_world.users[name].email) if name else anonymous

    return client


@pytest.fixture
def provider() -> Iterator[ProviderServer]:
    """The outside world's models, on loopback."""
    with ProviderServer().running() as server:
        yield server


@pytest.fixture
def language_model(provider: ProviderServer, settings: Any) -> ProviderServer:
    """A configured language model: the provider's."""
    settings.LLM_MODEL, settings.LLM_BASE_URL, settings.LLM_API_KEY = "test-model", provider.base_url, "secret"
    settings.LLM_MODELS, settings.LLM_TIMEOUT = [], 5.0
    return provider


class Worker:
    """A real worker process with beat, on the test database."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.log = folder / "worker.log"

    def start(self) -> None:
        name = connection.settings_dict["NAME"]
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.support.worker_settings",
            "TEST_DATABASE": str(name),
            "RAG_LEASE_SECONDS": "2",
            "RAG_SWEEP_SECONDS": "1",
            "RAG_STORAGE_FOLDER": str(settings.RAG_STORAGE_FOLDER),
            "RAG_TEMP_FOLDER": str(settings.RAG_TEMP_FOLDER),
        }
        command = [sys.executable, "-m", "celery", "-A", "ragsite", "worker", "--beat", "--concurrency", "2"]
        command += ["--schedule", str(self._folder / "schedule"), "--loglevel", "info"]
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)

    def kill(self) -> None:
        """SIGKILL to the whole family, as when the machine dies."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        children = psutil.Process(self._process.pid).children(recursive=True)
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        if self._process.poll() is None:
            self.kill()
        psutil.wait_procs(children, timeout=5)


@pytest.fixture
def worker(transactional_db: None, tmp_path: Path) -> Iterator[Worker]:
    """Not started yet: the test decides when. Its queue is empty before and after."""
    empty_queue()
    process = Worker(tmp_path)
    yield process
    process.stop()
    empty_queue()


def empty_queue() -> None:
    with current_app.connection_for_write() as broker:
        current_app.control.purge(connection=broker)


@pytest.fixture
def eventually() -> Callable[..., object]:
    """Ask again until the answer is true; fail after a bounded time. The only waiting that tests do."""

    def wait(question: Callable[[], object], *, seconds: float = 60) -> object:
        deadline = time.monotonic() + seconds
        while not (answer := question()):
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.05)
        return answer

    return wait
