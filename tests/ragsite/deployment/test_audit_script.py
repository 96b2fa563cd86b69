"""scripts/audit: known vulnerabilities of the locked versions."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("report", "status", "message"),
    [
        ('{"dependencies": [{"name": "django", "version": "1", "vulns": []}]}', 0, "No known vulnerability"),
        (
            '{"dependencies": [{"name": "django", "version": "1", "vulns": [{"id": "CVE-1", "fix_versions": ["2"]}]}]}',
            1,
            "CVE-1 (fixed in: 2)",
        ),
        ('{"dependencies": [{"name": "django", "skip_reason": "not found in the index"}]}', 3, "NOT AUDITED"),
        ("", 3, "NOT AUDITED"),
    ],
)
def test_an_incomplete_audit_fails(tmp_path: Path, report: str, status: int, message: str) -> None:
    """pip-audit's own exit status is 0 for packages that the index does not know."""
    (tmp_path / "pip-audit").write_text(f"#!/bin/sh\nprintf '%s' '{report}'\n")
    (tmp_path / "pip-audit").chmod(0o755)
    (tmp_path / "lock").write_text("django==1\n")
    command = [sys.executable, "scripts/audit", str(tmp_path), str(tmp_path / "lock")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode, message in result.stdout + result.stderr) == (status, True)
