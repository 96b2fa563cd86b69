"""Both services of a folder, as the environment variables that the rest of the product reads."""

import fcntl
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from . import postgres, redis
from .folder import EmbeddedError, locked

_FOLDERS = {"postgres", "postgres.partial", "redis", "models", "static", "logs", "files", "tmp"}
_FILES = ("services.lock", "run.lock", "local.env", "secret-key", "children.json", "celerybeat-schedule", "worker.log",
          "keeper.log", "background.log", "web.log")  # fmt: skip


def start(folder: Path, environment: Mapping[str, str] = os.environ, *, throwaway: bool = False) -> dict[str, str]:
    """Start what DATABASE_URL and REDIS_URL do not already name. Safe to call again, and at the same time.

    throwaway: what is stored need not survive a crash of the machine, and nobody waits for the disk.

    Returns the variables that were missing. Raises EmbeddedError.
    """
    found: dict[str, str] = {}
    with locked(folder):
        if not environment.get("DATABASE_URL"):
            found["DATABASE_URL"] = postgres.start(folder, throwaway=throwaway)
        if not environment.get("REDIS_URL"):
            found["REDIS_URL"] = redis.start(folder)
    return found


def alive(folder: Path, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether what `start` started still runs."""
    database = bool(environment.get("DATABASE_URL")) or postgres.alive(folder)
    return database and (bool(environment.get("REDIS_URL")) or redis.alive(folder))


def forget(folder: Path) -> None:
    """Stop the services and remove what this product has made in the folder, and nothing else.

    Raises EmbeddedError if the folder is not one of its own, or a product runs from it.
    """
    if not (folder / "services.lock").exists():
        if folder.exists() and any(folder.iterdir()):
            raise EmbeddedError(f"{folder} was not made by ragsite: nothing was removed.")
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
    """Stop the folder's services; external ones are not touched."""
    with locked(folder):
        redis.stop(folder)
        postgres.stop(folder)
