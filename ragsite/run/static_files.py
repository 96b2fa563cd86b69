"""Whether the static files have been collected: collecting them again takes seconds, and changes nothing."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders

import ragsite

# In the folder of the collected files. Its name is left out when files are collected.
_RECORD = ".collected"
_IGNORED = ["CVS", ".*", "*~"]  # by collectstatic too


def are_collected() -> bool:
    """Return whether the folder contains what `remember` has seen, and the files to collect are those of that time."""
    record = _record()
    return record.exists() and record.read_text() == _fingerprint()


def remember() -> None:
    """Store that the files have been collected."""
    _record().write_text(_fingerprint())


def _record() -> Path:
    return Path(settings.STATIC_ROOT) / _RECORD


def _fingerprint() -> str:
    facts = [ragsite.__version__, json.dumps(settings.STORAGES["staticfiles"]), *_list_sources(), *_list_collected()]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


def _list_sources() -> Iterator[str]:
    """Yield the names of the files to collect, with their sizes and times of change."""
    for finder in finders.get_finders():
        for name, storage in finder.list(_IGNORED):
            status = Path(storage.path(name)).stat()
            yield f"{name} {status.st_size} {status.st_mtime_ns}"


def _list_collected() -> list[str]:
    """Return the names of the collected files, which contain a hash of the content, and their sizes."""
    files = [file for file in Path(settings.STATIC_ROOT).rglob("*") if file.name != _RECORD]
    return sorted(f"{file.relative_to(settings.STATIC_ROOT)} {file.stat().st_size}" for file in files if file.is_file())
