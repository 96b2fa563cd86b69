"""PostgreSQL and Redis of the data host: python -m tests.system.cluster.hosts.data_host FOLDER ADDRESS PASSWORD.

The embedded ones, which also listen on the host's network.
"""

import signal
import sys
from pathlib import Path

import psycopg
import redis
from psycopg import sql

from ragsite.embedded import postgres, services
from ragsite.embedded.folder import socket_folder

POSTGRES_PORT, REDIS_PORT = 5432, 6379


def administrator_url(folder: Path) -> str:
    """Return the address of the database for its administrator, who is not on the network."""
    return f"postgresql://postgres@/ragsite?host={socket_folder(folder / 'postgres')}"


def redis_url(folder: Path) -> str:
    return f"unix://{socket_folder(folder / 'redis') / 'redis.sock'}"


def main(folder: Path, address: str, password: str) -> None:
    services.start(folder, {}, throwaway=True)
    rules = folder / "postgres" / "network_hba.conf"
    local = (folder / "postgres" / "pg_hba.conf").read_text()
    rules.write_text(f"{local}host all all {address}/24 scram-sha-256\n")
    rules.chmod(0o644)
    with psycopg.connect(administrator_url(folder), autocommit=True) as connection:
        connection.execute(sql.SQL("ALTER ROLE ragsite PASSWORD {}").format(password))
        for name, value in (("listen_addresses", address), ("hba_file", str(rules)), ("max_connections", "200")):
            connection.execute(sql.SQL("ALTER SYSTEM SET {} = {}").format(sql.Identifier(name), value))
    postgres.stop(folder)
    services.start(folder, {}, throwaway=True)
    with redis.Redis.from_url(redis_url(folder)) as client:
        for name, setting in (("protected-mode", "no"), ("bind", address), ("port", str(REDIS_PORT))):
            client.config_set(name, setting)
    (folder / "ready").touch()
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.pause()
    services.stop(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
