"""Debian's PgBouncer in transaction mode, before the tests' PostgreSQL."""

import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psycopg
from django.db import connection

from ragsite.embedded.folder import SYSTEM_USER
from ragsite.postgres import identity, role_connections
from ragsite.postgres.derived_keys import role_password
from ragsite.postgres.roles import preparation

PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


class PgBouncer:
    """A PgBouncer of one test, with two sessions of the server for each role.

    Its database `pooled` is that of the test.
    """

    def __init__(
        self,
        folder: Path,
        *,
        reset_always: bool = True,
        replicas: Mapping[str, str] | None = None,
        timeouts: Mapping[str, float] | None = None,
    ) -> None:
        """Start it.

        Args:
            folder: Where its configuration is written.
            reset_always: Whether it resets sessions between transactions.
            replicas: Name of the database → the server's address, of each replica.
            timeouts: Settings of PgBouncer, in seconds.
        """
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        parameters = connection.get_connection_params()
        hosts = {"pooled": parameters["host"], **(replicas or {})}
        databases = "\n".join(f"{name} = host={host} dbname={parameters['dbname']}" for name, host in hosts.items())
        limits = "\n".join(f"{name} = {seconds}" for name, seconds in (timeouts or {}).items())
        (folder / "userlist.txt").write_text(preparation.userlist())
        (folder / "pgbouncer.ini").write_text(
            f"""
[databases]
{databases}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {self.port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/userlist.txt
pool_mode = transaction
default_pool_size = 2
server_reset_query = {role_connections.RESET_SESSION}
server_reset_query_always = {int(reset_always)}
{limits}
"""
        )
        as_user: dict[str, Any] = {}
        if os.geteuid() == 0:  # PgBouncer refuses to run as root
            as_user = {"user": SYSTEM_USER, "group": SYSTEM_USER, "extra_groups": []}
            for path in (folder, *folder.iterdir()):
                shutil.chown(path, SYSTEM_USER)
        with open(folder / "log", "wb") as log:
            command = [str(PROGRAM), str(folder / "pgbouncer.ini")]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, **as_user)

    def is_ready(self) -> bool:
        role = identity.READER_ROLE
        login: dict[str, Any] = {"host": "127.0.0.1", "port": self.port, "user": role, "password": role_password(role)}
        try:
            psycopg.connect(**login, dbname="pooled", connect_timeout=5).close()
        except psycopg.OperationalError:
            assert self.process.poll() is None, "PgBouncer has ended"
            return False
        return True

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)
