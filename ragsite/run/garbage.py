"""Collects the garbage of a web process as soon as its memory has grown.

Python counts new objects, not their bytes. A request is part of a reference cycle (`parser_context` of Django REST
framework), so the memory of a large body would not be free before many more requests have been served.
"""

import contextlib
import gc
import os
from pathlib import Path

_MAX_GROWTH_BYTES = 32 * 2**20
_STATUS = Path("/proc/self/statm")  # in pages: the address space, then what is resident
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# The memory after the last collection. A collection may free less than it finds, so the next growth counts from here.
_resident_bytes = 0


def collect_after_growth() -> None:
    """Collect garbage if the process has 32 MiB more memory than after the last time. Does nothing without procfs."""
    global _resident_bytes
    with contextlib.suppress(OSError):
        if _read_resident_bytes() > _resident_bytes + _MAX_GROWTH_BYTES:
            gc.collect()
            _resident_bytes = _read_resident_bytes()


def _read_resident_bytes() -> int:
    return int(_STATUS.read_text().split()[1]) * _PAGE_BYTES
