from typing import Any

from tests.access import check_counts


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if check_counts.counted:
        terminalreporter.section("proved")
        for what, times in check_counts.counted.items():
            terminalreporter.write_line(f"{times:>9,} {what}")
