"""No regular expression of the product takes a time that doubles with each sign of a hostile text."""

import resource
import subprocess
import sys

# Of all patterns together. One that backtracks would take hours.
_MAX_CPU_SECONDS = 60


def test_no_pattern_backtracks_exponentially() -> None:
    command = "import django; django.setup(); from tests.support.checks.backtracking import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", command],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (_MAX_CPU_SECONDS, _MAX_CPU_SECONDS)),
    )
    names = done.stdout.split("\n")
    assert done.returncode == 0, (names[-2:], done.stderr[-500:])
    assert len(names) > 150
