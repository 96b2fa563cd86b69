"""The embedded services start after a crash, a reboot or an interrupted start."""

import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import psutil
import psycopg
import pytest
import redis
from psycopg.rows import TupleRow

from ragsite.embedded import postgres, services
from ragsite.embedded.folder import EmbeddedError


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster that was created, prepared and stopped: creating one takes most of the time of a start."""
    folder = tmp_path_factory.mktemp("created")
    services.start(folder, {"REDIS_URL": "redis://cache.example"})
    services.stop(folder)
    return folder / "postgres"


@pytest.fixture
def created_folder(folder: Path, cluster: Path) -> Path:
    """A folder with a copy of the cluster."""
    copy_cluster(cluster, folder)
    return folder


def copy_cluster(cluster: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    subprocess.run(["cp", "-a", cluster, folder], check=True)  # with its owner


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.delenv("REDIS_URL", raising=False)
    data_folder = tmp_path / "data"
    yield data_folder
    services.stop(data_folder)


def host(addresses: dict[str, str]) -> str:
    return unquote(addresses["DATABASE_URL"].partition("host=")[2])


def query_both(addresses: dict[str, str]) -> tuple[int, bool]:
    """(1, True) if PostgreSQL and Redis answer."""
    with psycopg.connect(host=host(addresses), user="ragsite", dbname="ragsite") as connection:
        row = connection.execute("SELECT 1").fetchone()
    with redis.Redis.from_url(addresses["REDIS_URL"]) as client:
        return row[0] if row else 0, bool(client.ping())


def test_start_is_shared_and_data_is_kept(folder: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        addresses = list(pool.map(lambda _: services.start(folder), range(4)))
    assert addresses == [addresses[0]] * 4
    with psycopg.connect(host=host(addresses[0]), user="ragsite", dbname="ragsite") as connection:
        connection.execute("CREATE TABLE kept (id vector)")
    with redis.Redis.from_url(addresses[0]["REDIS_URL"]) as client:
        client.set("kept", "yes")
    services.stop(folder)
    restarted = services.start(folder)
    with psycopg.connect(host=host(restarted), user="ragsite", dbname="ragsite") as connection:
        connection.execute("TABLE kept")
    with redis.Redis.from_url(restarted["REDIS_URL"]) as client:
        assert client.get("kept") == b"yes"


def test_the_login_is_a_superuser_only_for_tests(created_folder: Path) -> None:
    def strengths() -> object:
        with psycopg.connect(host=host(addresses), user="ragsite", dbname="ragsite") as connection:
            query = (
                "SELECT rolsuper, rolbypassrls, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = current_user"
            )
            return connection.execute(query).fetchone()

    addresses = services.start(created_folder)
    assert strengths() == (False, False, False, True)
    with (
        psycopg.connect(host=host(addresses), user="ragsite", dbname="ragsite") as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("COPY (SELECT 1) TO PROGRAM 'true'")
    services.start(created_folder, superuser=True)
    assert strengths() == (True, False, False, True)


def test_a_server_for_tests_has_connections_for_several_processes(created_folder: Path) -> None:
    addresses = services.start(created_folder, throwaway=True)
    with psycopg.connect(host=host(addresses), user="ragsite", dbname="ragsite") as connection:
        settings = [connection.execute(f"SHOW {name}").fetchone() for name in ("fsync", "max_connections")]
    assert settings == [("off",), ("200",)]


def test_a_cluster_of_an_earlier_version_is_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cluster's only superuser was the product's login, which becomes an ordinary login."""
    monkeypatch.setattr(postgres, "_ADMINISTRATOR", "ragsite")
    monkeypatch.setattr(postgres, "_AUTHENTICATION", "local all all trust")
    services.start(folder)
    services.stop(folder)
    monkeypatch.undo()
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.delenv("REDIS_URL", raising=False)
    addresses = services.start(folder)
    assert query_both(addresses) == (1, True)
    with psycopg.connect(addresses["DATABASE_URL"]) as connection:
        superusers = connection.execute("SELECT rolname FROM pg_roles WHERE rolsuper").fetchall()
        assert superusers == [("postgres",)]
        connection.execute("CREATE TABLE another (id integer)")
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(host=host(addresses), user="ragsite_sign_in", dbname="ragsite")


def test_killed_servers_are_started_again(created_folder: Path) -> None:
    address = services.start(created_folder)["REDIS_URL"]
    postmaster = int((created_folder / "postgres" / "postmaster.pid").read_text().split("\n")[0])
    with redis.Redis.from_url(address) as client:
        redis_server = psutil.Process(client.info("server")["process_id"])
    for process in [redis_server, psutil.Process(postmaster), *psutil.Process(postmaster).children()]:
        process.kill()
    psutil.wait_procs([redis_server], timeout=30)
    assert query_both(services.start(created_folder)) == (1, True)


def test_a_server_that_ends_while_a_start_connects_to_it_is_started_again(
    created_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.start(created_folder)
    postmaster = psutil.Process(int((created_folder / "postgres" / "postmaster.pid").read_text().split("\n")[0]))
    connects, connect = threading.Event(), psycopg.connect

    def tell_and_connect(*arguments: Any, **options: Any) -> "psycopg.Connection[TupleRow]":
        connects.set()
        return connect(*arguments, **options)

    monkeypatch.setattr(psycopg, "connect", tell_and_connect)
    postmaster.suspend()  # it is not gone yet, and answers nobody
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(services.start, created_folder)
        try:
            assert connects.wait(30)
        finally:
            postmaster.kill()
        assert query_both(started.result()) == (1, True)


def test_the_sessions_of_a_killed_server_are_waited_for(
    created_folder: Path, eventually: Callable[..., object]
) -> None:
    """PostgreSQL refuses to start while one of them uses the shared memory."""
    services.start(created_folder)
    cluster = created_folder / "postgres"
    postmaster = psutil.Process(int((cluster / "postmaster.pid").read_text().split("\n")[0]))
    # The checkpointer: a session of the start may be ending already.
    session = next(child for child in postmaster.children() if "checkpointer" in " ".join(child.cmdline()))
    session.suspend()
    postmaster.kill()
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(services.start, created_folder)
        try:
            eventually(lambda: "pre-existing shared memory block" in (cluster / "server.log").read_text())
        finally:
            session.kill()
        assert query_both(started.result()) == (1, True)


def test_a_pid_file_with_the_id_of_another_process(created_folder: Path) -> None:
    """After a reboot another process may have the old id."""
    services.start(created_folder)
    file = created_folder / "postgres" / "postmaster.pid"
    lines = file.read_text().split("\n")
    services.stop(created_folder)
    file.write_text("\n".join([str(os.getppid()), *lines[1:]]))
    assert query_both(services.start(created_folder)) == (1, True)


def test_it_stops_although_a_folder_above_was_closed(folder: Path, cluster: Path) -> None:
    """If root starts it, it runs as another user. Any start of pytest closes the folder of the temporary folders."""
    deep = folder / "above" / "data"
    copy_cluster(cluster, deep)
    services.start(deep)
    deep.parent.chmod(0o700)
    try:
        services.stop(deep)
        assert not services.is_running(deep)
    finally:
        deep.parent.chmod(0o755)
        services.stop(deep)


def test_a_server_that_does_not_stop_is_reported(created_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    services.start(created_folder)
    postmaster = psutil.Process(int((created_folder / "postgres" / "postmaster.pid").read_text().split("\n")[0]))
    monkeypatch.setattr(postgres, "_MAX_STOP_SECONDS", 0.1)
    postmaster.suspend()
    try:
        with pytest.raises(EmbeddedError, match="did not stop"):
            services.stop(created_folder)
    finally:
        postmaster.resume()


def test_redis_that_does_not_answer_is_not_started_a_second_time(folder: Path) -> None:
    database = {"DATABASE_URL": "postgresql://db.example/x"}
    address = services.start(folder, database)["REDIS_URL"]
    with redis.Redis.from_url(address) as client:
        process = psutil.Process(client.info("server")["process_id"])
    process.suspend()
    try:
        assert services.is_running(folder, database)
    finally:
        process.resume()
    services.stop(folder)
    assert not services.is_running(folder, database)


def test_redis_may_take_longer_to_stop_than_a_request(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = services.start(folder, {"DATABASE_URL": "postgresql://db.example/x"})["REDIS_URL"]
    shutdown = redis.Redis.shutdown

    def shutdown_slowly(client: redis.Redis) -> None:
        shutdown(client)
        raise redis.TimeoutError

    monkeypatch.setattr(redis.Redis, "shutdown", shutdown_slowly)
    services.stop(folder)
    with redis.Redis.from_url(address) as client, pytest.raises(redis.ConnectionError):
        client.ping()


def test_a_partially_created_cluster(folder: Path) -> None:
    partial = folder / "postgres.partial"
    partial.mkdir(parents=True)
    (partial / "PG_VERSION").write_text("18\n")
    assert query_both(services.start(folder)) == (1, True)


def test_a_folder_path_that_is_too_long_for_sockets(folder: Path, cluster: Path) -> None:
    deep = folder / ("d" * 60) / ("e" * 60)
    copy_cluster(cluster, deep)
    addresses = services.start(deep)
    try:
        assert query_both(addresses) == (1, True)
        assert len(host(addresses)) < 100
    finally:
        services.stop(deep)


def test_a_path_with_a_space(folder: Path) -> None:
    with_space = folder / "my data"
    try:
        assert query_both(services.start(with_space)) == (1, True)
    finally:
        services.stop(with_space)


def test_delete_data_deletes_only_what_the_product_created(created_folder: Path, tmp_path: Path) -> None:
    services.start(created_folder)
    (created_folder / "thesis.txt").write_text("mine")
    services.delete_data(created_folder)
    assert [path.name for path in created_folder.iterdir()] == ["thesis.txt"]
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.txt").write_text("mine")
    with pytest.raises(EmbeddedError, match="not created by ragsite"):
        services.delete_data(home)
    assert (home / "thesis.txt").exists()


def test_configured_services_are_not_started(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://db.example/ragsite")
    monkeypatch.setenv("REDIS_URL", "redis://cache.example")
    assert services.start(folder) == {}
    assert [path.name for path in folder.iterdir()] == ["services.lock"]
