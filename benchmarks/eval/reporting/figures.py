"""Collects all figures of a run and writes them after each set, so that an interrupted run loses none."""

import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.eval.runner.figures_by_kind import Judged


class Figures:
    """`failures` are sets that could not be measured, with the reason. `notes` count peculiarities of a set."""

    def __init__(self, out: Path, say: Callable[[str], None]) -> None:
        self._out, self._say = out, say
        self.judged: dict[str, dict[str, Judged]] = {"groundability": {}, "answer_grounding": {}}
        self.all: dict[str, Any] = {
            "retrieval": {},
            "chunking": {},
            "groundability": {},
            "answer_grounding": {},
            "answers": {},
            "documents": {"passed": 0, "total": 0, "failures": []},
            "failures": [],
            "notes": {},
            "seconds": {},
            "sizes": {},
            "tuning": {},
        }

    def __getitem__(self, kind: str) -> Any:
        return self.all[kind]

    def judge(self, kind: str, name: str, judged: Judged) -> None:
        self.judged[kind][name] = judged
        self.all[kind][name] = judged.figures()

    def note(self, name: str, notes: dict[str, int]) -> None:
        for reason, number in notes.items():
            self.all["notes"].setdefault(name, {})[reason] = number

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Run the block; record its exception as a failure, so that the run continues."""
        try:
            yield
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".strip()[:500]
            self.all["failures"].append({"set": name, "error": reason})
            self._say(f"{name} could not be measured: {reason}")
        self.write()

    def write(self) -> None:
        self._out.parent.mkdir(parents=True, exist_ok=True)
        partial = self._out.with_name(self._out.name + ".partial")
        text = json.dumps(_rounded(self.all), indent=1, ensure_ascii=False) + "\n"
        partial.write_bytes(text.encode(errors="replace"))
        os.replace(partial, self._out)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    if isinstance(value, float):
        return round(value, 4) if math.isfinite(value) else None  # JSON has no NaN and no infinity
    return value
