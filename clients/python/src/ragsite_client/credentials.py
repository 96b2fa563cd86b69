"""The address and API key that `ragsite login` stores, in a file that only its owner may read."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Credentials:
    """How the command line reaches ragsite."""

    url: str
    key: str


def file() -> Path:
    """Return the path of the file."""
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return folder / "ragsite" / "credentials.json"


def load() -> Credentials | None:
    """Return what the variables RAGSITE_URL and RAGSITE_API_KEY say, else what is stored; None if nothing is."""
    url, key = os.environ.get("RAGSITE_URL"), os.environ.get("RAGSITE_API_KEY")
    if url and key:
        return Credentials(url, key)
    try:
        return Credentials(**json.loads(file().read_text()))
    except (OSError, ValueError, TypeError):
        return None


def save(credentials: Credentials) -> Path:
    """Store the address and the key, and return where."""
    path = file()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as opened:
        json.dump(asdict(credentials), opened)
    return path
