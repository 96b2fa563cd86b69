"""Runs the part `oversized` of `make abuse`, which is quick and gives the same result each time.

It runs in a process of its own, with a product of its own.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from ragsite.settings.env import DATA_DIR
from tests.system.chaos.test_exactly_once import HIDDEN


def test_oversized_requests_get_the_contracts_error(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    environment = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    environment |= {"ABUSE_PARTS": "oversized", "ABUSE_REPORT": str(report)}
    result = subprocess.run(
        [sys.executable, "-m", "tests.system.abuse", str(DATA_DIR / "abuse")],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert report.exists(), result.stderr[-3000:]
    (row,) = json.loads(report.read_text())
    assert row["requests"] >= 40
    assert (row["broken"], result.returncode) == ({}, 0), result.stdout
