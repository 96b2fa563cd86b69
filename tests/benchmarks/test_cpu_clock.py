"""The CPU time of processes that begin and end between two readings is counted once."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.support.cpu_clock import CpuClock

# Uses CPU time in two threads, of which one ends. Then waits for a line.
WORK = """
import sys, threading, time
def work():
    while time.thread_time() < 0.1: pass
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(1000 * time.process_time(), flush=True)
sys.stdin.readline()
"""
# Starts such a process whenever a line arrives, and says when it has ended.
SHELL = f"while read line; do '{sys.executable}' -c '{WORK}'; echo ended; done"
# The times of ended processes are rounded.
TOLERANCE = 40


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process in the place of PostgreSQL, which is not a process below this one."""
    command = ["sh", "-c", SHELL]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        (tmp_path / "postgres").mkdir()
        (tmp_path / "postgres" / "postmaster.pid").write_text(f"{process.pid}\n")
        yield process
        assert process.stdin
        process.stdin.close()


def send_line(process: subprocess.Popen[str]) -> str:
    """Send a line, and return the line that is printed then."""
    assert process.stdin
    assert process.stdout
    process.stdin.write("\n")
    process.stdin.flush()
    line: str = process.stdout.readline()
    return line


def test_the_time_of_a_process_counts_once_before_and_after_its_end(
    shell: subprocess.Popen[str], tmp_path: Path
) -> None:
    cpu_clock = CpuClock(tmp_path)
    start = cpu_clock.milliseconds()
    used = float(send_line(shell))
    while_it_runs = cpu_clock.milliseconds() - start
    assert send_line(shell) == "ended\n"
    after_its_end = cpu_clock.milliseconds() - start
    assert while_it_runs >= used
    assert while_it_runs <= after_its_end < while_it_runs + used / 2


def test_processes_between_two_readings_count(shell: subprocess.Popen[str], tmp_path: Path) -> None:
    cpu_clock = CpuClock(tmp_path)
    start = cpu_clock.milliseconds()
    used = 0.0
    for _ in range(2):
        used += float(send_line(shell))
        assert send_line(shell) == "ended\n"
    assert used - TOLERANCE <= cpu_clock.milliseconds() - start < 1.5 * used
