"""The product, its pages and its documentation use no retired term; tests and benchmarks use fewer and fewer."""

import re
import subprocess
import sys

from .project import ROOT

# Uses that are left in tests and benchmarks. Lower it with every clean-up; never raise it.
MAX_USES_IN_TESTS_AND_BENCHMARKS = 545
_USE = re.compile(r"(?P<file>[^:\s]+):\d+: ")


def test_retired_terms() -> None:
    result = subprocess.run([sys.executable, "scripts/glossary"], cwd=ROOT, capture_output=True, text=True)
    assert not result.stderr
    uses = [line for line in result.stdout.splitlines() if _USE.match(line)]
    in_tests = [line for line in uses if line.startswith(("tests/", "benchmarks/"))]
    assert [line for line in uses if line not in in_tests] == []
    assert len(in_tests) <= MAX_USES_IN_TESTS_AND_BENCHMARKS
