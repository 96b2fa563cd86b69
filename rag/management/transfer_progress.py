"""The progress of a backup or a restore in the terminal: tables, rows and files so far."""

from typing import Self

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


class TransferProgress:
    """Shows the current table or kind of file, and how many rows or files are done."""

    def __init__(self) -> None:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        self._progress = Progress(*columns, console=Console(stderr=True))
        self._task = self._progress.add_task("reading")
        self._totals: dict[str, int] = {}

    def advance(self, step: str, count: int) -> None:
        """Add rows of a table, or files."""
        total = self._totals[step] = self._totals.get(step, 0) + count
        self._progress.update(self._task, description=f"{step}: {total:,}" if total else step)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()
