"""Starts, stops and deletes the embedded services of a data folder."""

import fcntl
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from . import postgres, redis
from .folder import EmbeddedError, locked

_FOLDERS = {"postgres", "postgres.partial", "redis", "models", "static", "logs", "files", "tmp", "web"}
_FILES = ("services.lock", "run.lock", "local.env", "secret-key", "children.json", "celerybeat-schedule", "worker.log",
          "scheduler.log", "background.log", "web.log")  # fmt: skip


def start(
    folder: Path, environment: Mapping[str, str] = os.environ, *, throwaway: bool = False, superuser: bool = False
) -> dict[str, str]:
    """Start each service whose variable is not set. Can be called again, even by several processes at the same time.

    Args:
        folder: the data folder.
        environment: a service whose DATABASE_URL or REDIS_URL is set here is not started.
        throwaway: run PostgreSQL without fsync; a crash of the machine may destroy the data.
        superuser: make the login of PostgreSQL a superuser, for tests and measurements.

    Returns:
        The variables of the started services.

    Raises:
        EmbeddedError: a service did not start.
    """
    variables: dict[str, str] = {}
    with locked(folder):
        if not environment.get("DATABASE_URL"):
            variables["DATABASE_URL"] = postgres.start(folder, throwaway=throwaway, superuser=superuser)
        if not environment.get("REDIS_URL"):
            variables["REDIS_URL"] = redis.start(folder)
    return variables


def is_running(folder: Path, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether PostgreSQL and Redis run; one whose variable the environment sets is taken to run."""
    is_database_running = bool(environment.get("DATABASE_URL")) or postgres.is_running(folder)
    return is_database_running and (bool(environment.get("REDIS_URL")) or redis.is_running(folder))


def delete_data(folder: Path) -> None:
    """Stop the services and delete what the product has created in the folder. Other files stay.

    Raises:
        EmbeddedError: the product did not create the folder, or runs from it.
    """
    if not (folder / "services.lock").exists():
        if folder.exists() and any(folder.iterdir()):
            raise EmbeddedError(f"{folder} was not created by ragsite: nothing was deleted.")
        return
    with open(folder / "run.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EmbeddedError("ragsite runs from this folder: stop it first (Ctrl-C in its terminal).") from None
        stop(folder)
        for entry in folder.iterdir():
            if entry.is_dir() and entry.name in _FOLDERS:
                shutil.rmtree(entry)
            elif entry.is_file() and entry.name.startswith(_FILES):
                entry.unlink()


def stop(folder: Path) -> None:
    """Stop the folder's embedded services."""
    with locked(folder):
        redis.stop(folder)
        postgres.stop(folder)
