"""Slots that processes of one machine share (rag.providers.limits.cross_process_slots)."""

import fcntl
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from rag.providers.limits.cross_process_slots import CrossProcessSlots

_HOLD = """
import sys, time
from pathlib import Path
from rag.providers.limits.cross_process_slots import CrossProcessSlots
with CrossProcessSlots(folder=Path(sys.argv[1]), count=1).slot(timeout=10) as is_free:
    print(is_free, flush=True)
    time.sleep(600)
"""


def test_a_killed_process_frees_its_slot(tmp_path: Path) -> None:
    slots = CrossProcessSlots(folder=tmp_path / "slots", count=1)
    holder = subprocess.Popen([sys.executable, "-c", _HOLD, str(tmp_path / "slots")], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        with slots.slot(timeout=0) as is_free:
            assert not is_free
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
    with slots.slot(timeout=10) as is_free:
        assert is_free


def test_as_many_slots_as_configured(tmp_path: Path) -> None:
    slots = CrossProcessSlots(folder=tmp_path, count=2)
    with slots.slot(timeout=0) as first, slots.slot(timeout=0) as second, slots.slot(timeout=0) as third:
        assert (first, second, third) == (True, True, False)
    with slots.slot(timeout=0) as is_free:
        assert is_free


def test_the_last_holder_does_not_overtake_a_waiting_process(tmp_path: Path, eventually: Callable[..., object]) -> None:
    slots, order = CrossProcessSlots(folder=tmp_path, count=1), []

    def wait() -> None:
        with slots.slot(timeout=60):
            order.append("waiting")

    thread = threading.Thread(target=wait)
    with slots.slot(timeout=0):
        thread.start()
        eventually(lambda: _is_locked(tmp_path / "gate"), seconds=10)
    with slots.slot(timeout=60):
        order.append("last holder")
    thread.join()
    assert order == ["waiting", "last holder"]


def _is_locked(path: Path) -> bool:
    with open(path, "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False
