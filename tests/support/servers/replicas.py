"""Streaming replicas of the embedded PostgreSQL that the tests use."""

import contextlib
import os
import select
import shutil
import subprocess
import tempfile
import threading
import time
import uuid
from pathlib import Path
from typing import Any

import psutil
import psycopg
from django.db import connection

from ragsite.embedded.folder import SYSTEM_USER
from ragsite.embedded.postgres import give_to_system_user, programs_folder


class _Administrator:
    """A kept session of a server's administrator: tests ask often, and a new one takes longer than most answers."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._session: psycopg.Connection[Any] | None = None
        self._lock = threading.Lock()

    def execute(self, statement: str) -> Any:
        """Return the first value that the statement returns."""
        with self._lock:
            # The server says something to an idle session only when it ends it.
            if self._session and (self._session.closed or select.select([self._session], [], [], 0)[0]):
                self.close()
            if self._session is None:
                self._session = psycopg.connect(host=self._host, user="postgres", dbname="postgres", autocommit=True)
            cursor = self._session.execute(statement)
            row = cursor.fetchone() if cursor.description else None
            return row[0] if row else None

    def close(self) -> None:
        if self._session:
            self._session.close()
            self._session = None


class Replica:
    """A replica, which replays what the primary writes until it is paused or stopped."""

    def __init__(self, folder: Path, primary: str) -> None:
        """State where the replica's data is, and the primary's sockets."""
        self.folder, self._primary = folder, primary
        self._administrator, self._administrator_of_primary = _Administrator(str(folder)), _Administrator(primary)
        self._slot = f"replica_{uuid.uuid4().hex}"
        self.address = {"HOST": str(folder), "NAME": str(connection.settings_dict["NAME"])}

    def create_slot(self) -> None:
        """Let the primary keep what it writes from now on until the replica, which may be stopped, has received it."""
        self._execute_on_primary(f"SELECT pg_create_physical_replication_slot('{self._slot}', true)")

    def start(self) -> None:
        # A replica with fewer connections than its primary does not start.
        max_connections = self._execute_on_primary("SHOW max_connections")
        options = f"-k {self.folder} -c shared_buffers=32MB -c fsync=off -c primary_slot_name={self._slot}"
        options += f" -c max_connections={max_connections}"
        _run("pg_ctl", "-D", self.folder, "-l", self.folder / "server.log", "-w", "-o", options, "start")

    def stop(self) -> None:
        self._administrator.close()
        _run("pg_ctl", "-D", self.folder, "-m", "immediate", "-w", "stop")

    def delete(self) -> None:
        self.stop()
        slot = f"FROM pg_replication_slots WHERE slot_name = '{self._slot}'"
        self._execute_on_primary(f"SELECT pg_terminate_backend(active_pid, 60000) {slot} AND active_pid IS NOT NULL")
        self._execute_on_primary(f"SELECT pg_drop_replication_slot(slot_name) {slot}")
        self._administrator_of_primary.close()
        shutil.rmtree(self.folder)

    def pause(self) -> None:
        """Stop replaying. What was replayed can still be read."""
        self.execute("SELECT pg_wal_replay_pause()")
        while self.execute("SELECT pg_get_wal_replay_pause_state()") != "paused":
            time.sleep(0.01)  # the processor is left to what is waited for

    def is_paused(self) -> bool:
        return bool(self.execute("SELECT pg_is_wal_replay_paused()"))

    def resume(self) -> None:
        self.execute("SELECT pg_wal_replay_resume()")

    def position(self) -> int:
        return int(self.execute("SELECT pg_last_wal_replay_lsn() - '0/0'"))

    def freeze(self) -> None:
        """Stop its processes, which keep their connections and accept new ones, but answer nothing."""
        for process in self._processes():
            with contextlib.suppress(psutil.NoSuchProcess):  # a session that has just ended
                process.suspend()

    def thaw(self) -> None:
        for process in self._processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()

    def switch_wal(self) -> None:
        """Let the primary remove what it wrote, as far as no replica needs it."""
        for _ in range(2):
            self._execute_on_primary("SELECT pg_logical_emit_message(false, 'test', ''), pg_switch_wal()")
            self._execute_on_primary("CHECKPOINT")

    def _processes(self) -> list[psutil.Process]:
        server = psutil.Process(int((self.folder / "postmaster.pid").read_text().split("\n")[0]))
        return [server, *server.children(recursive=True)]

    def set(self, name: str, value: str | None) -> None:
        """Change a setting of the server; None restores its default."""
        self.execute(f"ALTER SYSTEM SET {name} = '{value}'" if value is not None else f"ALTER SYSTEM RESET {name}")
        self.execute("SELECT pg_reload_conf()")

    def replay_lock(self, table: str) -> None:
        """Let it lock a table for a moment: it replays what the primary does."""
        with psycopg.connect(host=self._primary, user="postgres", dbname=self.address["NAME"]) as session:
            session.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")

    def execute(self, statement: str) -> Any:
        """Return the first value that the statement returns, as the server's administrator."""
        return self._administrator.execute(statement)

    def _execute_on_primary(self, statement: str) -> Any:
        return self._administrator_of_primary.execute(statement)


def create(count: int) -> list[Replica]:
    """Copy the primary, and start this many replicas of it."""
    primary = str(connection.get_connection_params()["host"])
    replicas: list[Replica] = []
    for _ in range(count):
        folder = Path(tempfile.mkdtemp(prefix="replica-"))  # other users cannot open pytest's folders
        give_to_system_user(folder)
        replica = Replica(folder, primary)
        replica.create_slot()
        if replicas:
            subprocess.run(["cp", "-a", f"{replicas[0].folder}/.", folder], check=True)
        else:
            arguments = ["-h", primary, "-U", "postgres", "-D", folder, "-R", "--checkpoint=fast", "--no-sync"]
            _run("pg_basebackup", *arguments)
            (folder / ".s.PGSQL.5432.lock").unlink(missing_ok=True)  # of the primary's socket
        replicas.append(replica)
    for replica in replicas:
        replica.start()
    return replicas


def _run(command: str, *arguments: object) -> None:
    as_user: dict[str, Any] = {}
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        as_user = {"user": SYSTEM_USER, "group": SYSTEM_USER, "extra_groups": []}
    subprocess.run(
        [programs_folder() / command, *map(str, arguments)],
        check=True,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        **as_user,
    )
