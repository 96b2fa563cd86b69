"""The data folder of the embedded services: its lock, and socket paths short enough for the kernel."""

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
# PostgreSQL refuses to run as root. If root starts it, it runs as this user.
SYSTEM_USER = "ragsite-postgres"


class EmbeddedError(RuntimeError):
    """A service could not be started. The message tells the user why."""


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let one process at a time start or stop the services. The kernel releases the lock of a dead process."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "services.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def socket_folder(folder: Path) -> Path:
    """Return the folder of a service's socket: the service's folder, or a temporary one if that path is too long.

    Raises:
        EmbeddedError: another user owns the temporary folder.
    """
    if len(os.fsencode(folder)) <= _SOCKET_FOLDER_LIMIT:
        return folder
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]
    short = Path(tempfile.gettempdir()) / f"ragsite-{os.geteuid()}-{digest}"
    short.mkdir(mode=0o700, exist_ok=True)
    status = short.lstat()
    allowed_owners = {os.geteuid()} | {user.pw_uid for user in pwd.getpwall() if user.pw_name == SYSTEM_USER}
    if short.is_symlink() or status.st_uid not in allowed_owners or status.st_mode & 0o077:
        raise EmbeddedError(f"{short} belongs to another user. Remove it, or choose another folder with RAGSITE_DATA.")
    return short


def package_folder(package: str) -> Path:
    """Return the folder of an installed package whose binaries are used. The package is not imported.

    Raises:
        EmbeddedError: the package is not installed.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise EmbeddedError(f"The package {package} is missing: run `make install-local`.")
    return Path(spec.origin).parent
