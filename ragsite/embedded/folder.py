"""The data folder of one set of embedded services: its lock, and socket paths that the kernel accepts."""

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import pwd
import tempfile
from collections.abc import Iterator
from pathlib import Path

# sun_path holds 108 bytes on Linux and 104 on macOS, the final NUL and PostgreSQL's own file name included.
_SOCKET_FOLDER_LIMIT = 80
# PostgreSQL refuses to run as root; then it runs as this one.
SYSTEM_USER = "ragsite-postgres"


class EmbeddedError(RuntimeError):
    """A service could not be started; the message says why, in a sentence for the person at the terminal."""


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Only one process at a time starts or stops the services of a folder. The kernel frees the lock of a dead one."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "services.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def socket_folder(folder: Path) -> Path:
    """Where a service of this folder puts its socket: inside, or under the temporary folder if the path is too long.

    Raises EmbeddedError if somebody else already owns that temporary folder.
    """
    if len(os.fsencode(folder)) <= _SOCKET_FOLDER_LIMIT:
        return folder
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]
    short = Path(tempfile.gettempdir()) / f"ragsite-{os.geteuid()}-{digest}"
    short.mkdir(mode=0o700, exist_ok=True)
    found = short.lstat()
    own = {os.geteuid()} | ({each.pw_uid for each in pwd.getpwall() if each.pw_name == SYSTEM_USER})
    if short.is_symlink() or found.st_uid not in own or found.st_mode & 0o077:
        raise EmbeddedError(f"{short} belongs to another user. Remove it, or choose another folder with RAGSITE_DATA.")
    return short


def wheel(package: str) -> Path:
    """The folder of a wheel that is used for the files in it: found, never imported. Raises EmbeddedError."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise EmbeddedError(f"The wheel of {package} is missing: run `make install`.")
    return Path(spec.origin).parent
