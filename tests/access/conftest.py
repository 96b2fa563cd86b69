from typing import Any

from tests.access import proof


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if proof.counted:
        terminalreporter.section("proved")
        for what, times in proof.counted.items():
            terminalreporter.write_line(f"{times:>9,} {what}")
