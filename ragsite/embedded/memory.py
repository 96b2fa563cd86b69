"""How much of the memory of a machine or container the embedded PostgreSQL may keep for its cache."""

from pathlib import Path

_MB = 2**20
# The web server and the workers at rest.
_OTHER_PROCESSES = 1024 * _MB
# Without much data, more than a gigabyte would only take memory for its administration: 21 MB for each.
_SMALLEST, _LARGEST, _LARGEST_WITHOUT_DATA = 128, 4096, 1024


def shared_buffers_mb(memory: int, stored: int) -> int:
    """Return shared_buffers in megabytes: a quarter of the memory beside the other processes, at most 4 GB.

    More than 1 GB only if there are as many data. They may grow until the next start.

    PostgreSQL's documentation recommends a quarter. Shared buffers count to a container's limit as soon as they are
    used, and cannot be given back like the page cache, so that the other processes come first.

    Args:
        memory: what all processes may take, in bytes.
        stored: the size of the data, in bytes.
    """
    useful = min(_LARGEST, max(_LARGEST_WITHOUT_DATA, stored // _MB))
    return max(_SMALLEST, min(useful, (memory - _OTHER_PROCESSES) // 4 // _MB))


def stored_bytes(cluster: Path) -> int:
    """Return the size of the tables and indexes of a cluster of PostgreSQL that is not running, in bytes."""
    return sum(file.stat().st_size for file in (cluster / "base").glob("*/*"))


def available_memory(
    total: int, groups: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")
) -> int:
    """Return the bytes that this process and its children may take: the machine's, or a control group's limit.

    Args:
        total: the memory of the machine in bytes.
        groups: the file system of the control groups, version 1 or 2.
        membership: the file that names the groups of this process.
    """
    limits = [total]
    lines = membership.read_text().splitlines() if membership.exists() else []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, name = groups, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = groups / "memory", "memory.limit_in_bytes"
        else:
            continue
        # The limits of all groups above apply, too. In a container, the path may be that of the machine.
        group = root / path.lstrip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(root):
                limits += _limit(folder / name)
    return min(limits)


def _limit(file: Path) -> list[int]:
    try:
        text = file.read_text().strip()
    except OSError:
        return []
    return [int(text)] if text.isdecimal() else []  # "max" is no limit
