"""No retired term is used anywhere: product, pages, documentation, tests, benchmarks."""

import subprocess
import sys

from .project import ROOT


def test_no_retired_term_is_used() -> None:
    result = subprocess.run([sys.executable, "scripts/glossary"], cwd=ROOT, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, ""), result.stdout
