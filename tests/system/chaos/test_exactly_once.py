"""Runs `make chaos` without random faults: after real faults the same is stored as after an undisturbed run.

It runs in a process of its own, with servers of its own to break.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.system.chaos.stages import STAGES

HIDDEN = {"DATABASE_URL", "REDIS_URL", "SECRET_KEY", "RAG_LOCAL", "RAGSITE_DATA", "DJANGO_SETTINGS_MODULE"}


@pytest.fixture(scope="module")
def figures() -> Iterator[dict[str, Any]]:
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))  # other users cannot open pytest's folders
    report = folder / "report.json"
    environment = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    environment |= {"CHAOS_SECONDS": "0", "CHAOS_SEED": "4", "CHAOS_REPORT": str(report)}
    result = subprocess.run(
        [sys.executable, "-m", "tests.system.chaos", str(folder / "site")],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert report.exists(), result.stderr[-3000:]
    yield {**json.loads(report.read_text()), "code": result.returncode, "output": result.stdout}
    shutil.rmtree(folder)


@pytest.mark.parametrize("stage", STAGES)
def test_a_fault_at_this_stage_was_injected(figures: dict[str, Any], stage: str) -> None:
    """A fault is counted only if it hit its stage (tests/system/chaos/stages.py); otherwise there are no figures."""
    assert figures["faults"][stage] == 1


def test_nothing_is_lost_doubled_or_different(figures: dict[str, Any]) -> None:
    verdict = figures["verdict"]
    assert verdict["documents"] >= 40
    assert {name: verdict[name] for name in ("lost", "doubled", "different")} == {
        "lost": [],
        "doubled": [],
        "different": [],
    }, figures["output"]
    assert (verdict["surplus_rows"], figures["unfinished"], figures["code"]) == (0, 0, 0)


def test_readers_saw_either_the_old_or_the_new_version(figures: dict[str, Any]) -> None:
    assert figures["snapshots"] >= 10
    assert figures["mixed_versions"] == []
