"""Folders of files that are prepared once, and that processes map into their memory: the system keeps one copy."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path


def prepared_folder(cache: Path, name: str, prepare: Callable[[Path], None], *, replaces: tuple[str, ...]) -> Path:
    """Return a folder of the cache. If it is not there yet, one process prepares it while the others wait.

    Args:
        cache: The folder of all prepared folders. It is created.
        name: The name of the folder. It contains the versions of everything that the files depend on.
        prepare: Writes the files into the folder that it gets.
        replaces: Patterns of the names that earlier versions have used. They are deleted before.
    """
    folder = cache / name
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with open(cache / "build.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                # Whoever has left a partial folder is gone: it held the lock.
                _remove_files(cache, *replaces, "*.partial")
                partial = folder.with_name(f"{name}.partial")
                partial.mkdir()
                prepare(partial)
                os.replace(partial, folder)
    return folder


def _remove_files(cache: Path, *patterns: str) -> None:
    for pattern in patterns:
        for path in cache.glob(pattern):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
