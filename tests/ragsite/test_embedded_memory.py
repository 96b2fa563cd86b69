"""The embedded PostgreSQL's cache fits into the memory of the machine and into the limit of a container."""

from pathlib import Path

import pytest

from ragsite.embedded.memory import available_memory, shared_buffers_mb, stored_bytes

GB = 2**30


@pytest.mark.parametrize(
    ("gigabytes", "megabytes"), [(0.5, 128), (1, 128), (2, 256), (4, 768), (8, 1792), (16, 3840), (24, 4096)]
)
def test_the_cache_is_a_quarter_of_what_the_other_processes_leave(gigabytes: float, megabytes: int) -> None:
    assert shared_buffers_mb(int(gigabytes * GB), 100 * GB) == megabytes


@pytest.mark.parametrize(("stored", "megabytes"), [(0, 1024), (GB // 2, 1024), (3 * GB, 3072), (9 * GB, 4096)])
def test_the_cache_is_no_larger_than_the_data(stored: int, megabytes: int) -> None:
    assert shared_buffers_mb(64 * GB, stored) == megabytes


def test_tables_and_indexes_are_data(tmp_path: Path) -> None:
    for name, size in (("base/1/1", 10), ("base/1/2", 20), ("base/5/1", 30), ("pg_wal/1", 40)):
        write(tmp_path / name, "x" * (size - 1))
    assert stored_bytes(tmp_path) == 60


@pytest.fixture
def groups(tmp_path: Path) -> Path:
    folder = tmp_path / "cgroup"
    folder.mkdir()
    return folder


def write(file: Path, content: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{content}\n")


def available(groups: Path, membership: str) -> int:
    write(groups.parent / "membership", membership)
    return available_memory(24 * GB, groups, groups.parent / "membership")


def test_without_a_limit_the_memory_is_that_of_the_machine(groups: Path) -> None:
    assert available_memory(24 * GB, groups, groups / "missing") == 24 * GB
    write(groups / "memory.max", "max")
    assert available(groups, "0::/") == 24 * GB
    # Version 1 has a number even without a limit.
    write(groups / "memory" / "memory.limit_in_bytes", "9223372036854771712")
    assert available(groups, "4:memory:/\n1:cpu:/\n0::/") == 24 * GB


def test_the_limit_of_a_container_counts(groups: Path) -> None:
    write(groups / "memory.max", str(2 * GB))
    assert available(groups, "0::/") == 2 * GB


def test_the_limit_of_a_container_counts_if_its_group_has_the_path_of_the_machine(groups: Path) -> None:
    write(groups / "memory" / "memory.limit_in_bytes", str(2 * GB))
    assert available(groups, "5:cpu,memory:/docker/0123\n0::/") == 2 * GB


def test_the_smallest_limit_of_the_groups_above_counts(groups: Path) -> None:
    write(groups / "system.slice" / "memory.max", str(3 * GB))
    write(groups / "system.slice" / "ragsite.service" / "memory.max", "max")
    write(groups / "other.slice" / "memory.max", str(GB))
    assert available(groups, "0::/system.slice/ragsite.service") == 3 * GB
