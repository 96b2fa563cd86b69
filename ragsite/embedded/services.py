"""Both services of a folder, as the environment variables that the rest of the product reads."""

import os
from collections.abc import Mapping
from pathlib import Path

from . import postgres, redis
from .folder import locked


def start(folder: Path, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Start what DATABASE_URL and REDIS_URL do not already name. Safe to call again, and at the same time.

    Returns the variables that were missing. Raises EmbeddedError.
    """
    found: dict[str, str] = {}
    with locked(folder):
        if not environment.get("DATABASE_URL"):
            found["DATABASE_URL"] = postgres.start(folder)
        if not environment.get("REDIS_URL"):
            found["REDIS_URL"] = redis.start(folder)
    return found


def stop(folder: Path) -> None:
    """Stop the folder's services; external ones are not touched."""
    with locked(folder):
        redis.stop(folder)
        postgres.stop(folder)
