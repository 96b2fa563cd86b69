"""How much of the memory of a machine or container the embedded PostgreSQL may keep for its cache."""

from pathlib import Path

_MB = 2**20
# The web server and the workers at rest.
_OTHER_PROCESSES = 1024 * _MB
_SMALLEST, _LARGEST = 128, 4096


def shared_buffers_mb(memory: int) -> int:
    """Return shared_buffers in megabytes: a quarter of the memory beside the other processes, at most 4 GB.

    PostgreSQL's documentation recommends a quarter. Shared buffers count to a container's limit as soon as they are
    used, and cannot be given back like the page cache, so that the other processes come first.
    """
    return max(_SMALLEST, min(_LARGEST, (memory - _OTHER_PROCESSES) // 4 // _MB))


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
