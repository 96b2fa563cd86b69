"""Arrays of vectors that are too many for a worker's memory: they are in a file that has no name and ends with them."""

import contextlib
import mmap
import os
import tempfile

import numpy as np
from django.conf import settings

from rag.providers.base import HalfVectors

# More bytes of vectors are in a file.
_MAX_BYTES_IN_MEMORY = 16 * 1024 * 1024


def allocate(count: int, dimensions: int) -> HalfVectors:
    """Return an array for this many vectors. Without space on the disk it is in memory, whatever its size."""
    size = count * dimensions * np.dtype(np.float16).itemsize
    if size > _MAX_BYTES_IN_MEMORY:
        with contextlib.suppress(OSError), tempfile.TemporaryFile(dir=settings.RAG_TEMP_FOLDER) as file:
            # Reserved now: if the disk were full later, writing to the array would kill the process.
            os.posix_fallocate(file.fileno(), 0, size)
            return np.memmap(file, np.float16, "r+", shape=(count, dimensions))
    return np.empty((count, dimensions), np.float16)


def release_memory(vectors: HalfVectors) -> None:
    """Give back the memory that the process uses for an array in a file. It is read from there when it is needed."""
    mapped = getattr(vectors, "_mmap", None)
    if isinstance(mapped, mmap.mmap):
        mapped.madvise(mmap.MADV_DONTNEED)
