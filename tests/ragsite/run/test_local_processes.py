"""The child processes of `make run` are stopped together with their own."""

import os
import select
import sys
from pathlib import Path

import pytest

from ragsite.run.local_processes import Children

# Starts a process that nobody tells to end, and writes its id.
PARENT = """
import signal, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
with open(sys.argv[1], "w") as file:
    file.write(str(child.pid))
"""


@pytest.mark.parametrize("ending", ["signal.pause()", ""], ids=["stopped", "ended by itself"])
def test_a_process_that_ends_at_once_leaves_no_descendants(tmp_path: Path, ending: str) -> None:
    written = tmp_path / "id"
    os.mkfifo(written)
    children = Children(tmp_path / "children.json")
    children.start("parent", [sys.executable, "-c", PARENT + ending, str(written)], log=tmp_path / "parent.log")
    descendant = os.pidfd_open(int(written.read_text()))
    if not ending:
        children._running["parent"].wait(20)
    children.stop()
    ended, _, _ = select.select([descendant], [], [], 20)
    os.close(descendant)
    assert ended
