"""Shared fixtures: two organisations with users, a live HTTP server with its clients, and a real Celery worker."""

import contextlib
import gc
import importlib
import itertools
import re
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hypothesis
import pytest
from _pytest.runner import runtestprotocol
from django.conf import settings as django_settings
from django.core.cache.backends.redis import RedisCache
from django.test import TransactionTestCase, override_settings
from pytest_django.live_server_helper import LiveServer

from rag.services.sources import original_files
from ragsite.postgres import identity
from ragsite.settings.rag.files import folder_storage
from tests.support.data.cache import delete_own_keys
from tests.support.data.database import close_cleaner, delete_all_rows
from tests.support.data.database_copies import prepare_database
from tests.support.data.sessions import keep_sessions
from tests.support.factories import World
from tests.support.http import Client, LocalClient
from tests.support.processes.web import Web
from tests.support.processes.worker import Worker, purge_queue
from tests.support.servers.provider_server import ProviderServer
from tests.support.speed.data_stack import call_on_large_chunk
from tests.support.speed.embeddings import keep_embeddings

gc.disable()  # until the tests are collected: what is imported stays

# The test process owns the test database. Code that tests call runs as a worker's does (`as_worker`).
identity.run_process_as(identity.OWNER)

# How long an example may take says more about the machine than about the code.
hypothesis.settings.register_profile("ragsite", deadline=None)
hypothesis.settings.load_profile("ragsite")

_FOLDER_NUMBERS = itertools.count()

# Files with the longest tests. They run first, so that no process still runs one of them at the end, and those that
# mostly wait for processes alternate with those that compute.
SLOW_FILES = (
    "tests/ragsite/run/test_launch.py",
    "tests/browser/test_pages.py",
    "tests/system/chaos/test_exactly_once.py",
    "tests/providers/misbehaving_endpoints/test_deadlines.py",
    "tests/contracts/common/endpoints/test_endpoints_by_role.py",
    "tests/services/ingestion/test_ingestion_faults.py",
    "tests/services/queries/test_hidden_sources.py",
    "tests/access/database/test_transaction_pooling.py",
    "tests/contracts/pipeline/jobs/test_jobs.py",
    "tests/browser/test_connections.py",
    "tests/services/reembedding/test_concurrency.py",
    "tests/access/test_integrations.py",
    "tests/browser/test_administration.py",
    "tests/ragsite/http/test_request_bodies.py",
    "tests/access/database/test_row_level_security.py",
    "tests/access/database/replicas/test_failing_replicas.py",
    "tests/ragsite/test_embedded.py",
    "tests/contracts/common/endpoints/test_every_path.py",
    "tests/access/database/replicas/test_replicas.py",
    "tests/browser/test_journeys.py",
    "tests/access/database/roles/test_database_user.py",
    "tests/contracts/pipeline/jobs/test_cancel.py",
    "tests/orgs/admin/test_delegation.py",
    "tests/contracts/common/rate_limits/test_rate_limits.py",
    "tests/browser/test_members.py",
    "tests/text/test_backtracking.py",
    "tests/access/database/replicas/test_replica_access.py",
    "tests/contracts/retrieval/test_answer.py",
    "tests/access/rule/test_visible_to.py",
    "tests/commands/test_ingest.py",
    "tests/access/test_delegation.py",
    "tests/browser/test_operators.py",
    "tests/services/queries/test_rows_read.py",
    "tests/services/maintenance/backup/test_backup.py",
    "tests/ragsite/test_languages.py",
    "tests/ragsite/settings/test_settings.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def rank(item: pytest.Item) -> int:
        file = item.nodeid.partition("::")[0]
        return SLOW_FILES.index(file) if file in SLOW_FILES else len(SLOW_FILES)

    items.sort(key=rank)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import a share of all files first, so that the processes of a fresh clone do not all compile the same ones.

    Each process collects all files, in the same order, and most of the time of the first collection is for compiling.
    A file that cannot be imported is reported when it is collected.
    """
    process = getattr(session.config, "workerinput", None)
    if process is None or session.config.args != session.config.getini("testpaths"):
        return
    files = sorted(Path(__file__).parent.rglob("test_*.py"))
    for file in files[int(process["workerid"].removeprefix("gw")) :: process["workercount"]]:
        with contextlib.suppress(Exception):
            importlib.import_module(".".join(file.relative_to(session.config.rootpath).with_suffix("").parts))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Freeze what imports and collection created: it lives as long as the process, so collections need not examine it.

    What tests make is collected less often, because most of it is freed without the collector.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Collect what the tests left, and freeze the rest: pytest and the interpreter would each examine it again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run each test as pytest does, but on a large chunk of the data stack: see tests.support.speed.data_stack."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    call_on_large_chunk(runtestprotocol, item, nextitem=nextitem)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.fixture(autouse=True)
def as_worker() -> Iterator[None]:
    with identity.run_as(identity.WORKER):
        yield


@pytest.fixture(scope="session")
def django_db_setup(
    request: pytest.FixtureRequest,
    django_test_environment: None,
    django_db_blocker: Any,
    django_db_createdb: bool,
    django_db_modify_db_settings: None,
) -> Iterator[None]:
    """Replace Django's own: see tests.support.data.database_copies. Processes of one run create the template once."""
    run = getattr(request.config, "workerinput", {}).get("testrunuid") or str(uuid.uuid4())
    with django_db_blocker.unblock():
        prepare_database(run=run if django_db_createdb else "")
    close_kept_sessions = keep_sessions()
    yield
    close_kept_sessions()
    close_cleaner()


@pytest.fixture(scope="session", autouse=True)
def fast_teardown() -> None:
    """Replace Django's flush after each test that commits: see tests.support.data.database."""
    test_case: Any = TransactionTestCase
    test_case._fixture_teardown = lambda self: delete_all_rows()


@pytest.fixture(scope="session", autouse=True)
def own_cache_keys() -> None:
    """Let cache.clear() leave the keys of other test processes: see tests.support.data.cache."""
    redis_cache: Any = RedisCache
    redis_cache.clear = delete_own_keys


@pytest.fixture(scope="session", autouse=True)
def kept_embeddings() -> None:
    """Compute the embeddings of the same texts once: see tests.support.speed.embeddings."""
    keep_embeddings()


@pytest.fixture
def world(db: None) -> World:
    """Two organisations with people of every role."""
    return World.create()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Replace pytest's own, which also renews a symbolic link: that takes longer than the folder."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    folder = tmp_path_factory.getbasetemp() / f"{name}-{next(_FOLDER_NUMBERS)}"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture(scope="session", autouse=True)
def common_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give this process a file storage and a temporary folder, for tests without a database."""
    folder = tmp_path_factory.mktemp("common")
    with override_settings(**settings_of_files(folder)):
        yield folder / "files"


@pytest.fixture(autouse=True)
def stored_files(request: pytest.FixtureRequest, common_files: Path) -> Path:
    """Give each test with a database, which may store files, a file storage and a temporary folder of its own."""
    if {"db", "transactional_db"}.isdisjoint(request.fixturenames) and not request.node.get_closest_marker("django_db"):
        return common_files
    folder, settings = request.getfixturevalue("tmp_path"), request.getfixturevalue("settings")
    for name, value in settings_of_files(folder).items():
        setattr(settings, name, value)
    return Path(folder / "files")


def settings_of_files(folder: Path) -> dict[str, Any]:
    """Return the settings with which files are stored in a folder, and temporary ones beside them."""
    files, temporary = folder / "files", folder / "tmp"
    temporary.mkdir()
    storages = {**django_settings.STORAGES, "default": folder_storage(files)}
    names = {"STORAGES": storages, "RAG_STORAGE_FOLDER": files, "RAG_TEMP_FOLDER": temporary}
    return {**names, "FILE_UPLOAD_TEMP_DIR": str(temporary)}


@pytest.fixture
def small_files_in_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Store files of any size as files, none in its row."""
    monkeypatch.setattr(original_files, "MAX_BYTES_IN_ROW", 0)


@pytest.fixture
def live_world(transactional_db: None) -> World:
    """`world`, committed: for tests in which other processes take part."""
    return World.create()


@pytest.fixture
def api(live_server: LiveServer, live_world: World) -> Callable[..., Client]:
    """api() is an anonymous client; api("editor") has an access token of that user of the world.

    Nobody signs in for it: a test that is about signing in does so itself, with `signed_in`.
    """

    def client(name: str = "") -> Client:
        anonymous = Client(live_server.url)
        return anonymous.with_token_of(live_world.users[name]) if name else anonymous

    return client


@pytest.fixture
def local_api(world: World) -> Callable[..., Client]:
    """`api` without a server: requests are made in the test's process and transaction."""

    def client(name: str = "") -> Client:
        anonymous = LocalClient()
        return anonymous.with_token_of(world.users[name]) if name else anonymous

    return client


@pytest.fixture
def steady_rate_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The windows of rate limits do not end during the test, and every request is counted."""
    now = time.time()
    monkeypatch.setattr("rag.contracts.common.rate_limits._uncounted_until", 0.0)
    monkeypatch.setattr("django_ratelimit.core.time", SimpleNamespace(time=lambda: now))


@pytest.fixture
def model_provider() -> Iterator[ProviderServer]:
    """A server on loopback with the APIs of model providers."""
    with ProviderServer().running() as server:
        yield server


@pytest.fixture
def language_model(model_provider: ProviderServer, settings: Any) -> ProviderServer:
    """Configure the language model of the model provider as the installation's."""
    settings.LLM_MODEL, settings.LLM_BASE_URL, settings.LLM_API_KEY = "test-model", model_provider.base_url, "secret"
    settings.LLM_MODELS, settings.LLM_TIMEOUT = [], 5.0
    return model_provider


@pytest.fixture
def worker(request: pytest.FixtureRequest, transactional_db: None, tmp_path: Path) -> Iterator[Worker]:
    """A worker that is not started yet. Its queue is empty before and after the test.

    The worker stops before the model provider. Otherwise it would try to embed its documents for half a minute.
    """
    if "model_provider" in request.fixturenames:
        request.getfixturevalue("model_provider")
    purge_queue()
    process = Worker(tmp_path)
    yield process
    process.kill()  # what it does is of no interest any more, and its orderly end takes seconds
    purge_queue()


@pytest.fixture(scope="module")
def web_server(
    django_db_setup: None, tmp_path_factory: pytest.TempPathFactory, eventually: Callable[..., Any]
) -> Iterator[Web]:
    """A web server for all tests of a file, because it takes seconds to start."""
    server = Web(tmp_path_factory.mktemp("web"))
    try:
        eventually(server.is_ready)
        yield server
    finally:
        server.stop()


@pytest.fixture
def web(web_server: Web, transactional_db: None) -> Web:
    """The web server, with an empty database."""
    return web_server


@pytest.fixture(scope="session")
def eventually() -> Callable[..., object]:
    """Wait until a condition is true; fail after a time limit. Tests use no other kind of waiting."""

    def wait(condition: Callable[[], object], *, seconds: float = 120) -> object:
        deadline = time.monotonic() + seconds
        while not (result := condition()):
            assert time.monotonic() < deadline, f"the condition was not true within {seconds} seconds"
            time.sleep(0.05)
        return result

    return wait
