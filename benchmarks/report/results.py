"""The figures of a run of make bench, each beside its limit from the same run and its goal."""

import json
import math
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Goal:
    """What a figure should reach. `is_of_ratio`: not the value itself, but its ratio to the limit."""

    bound: float
    is_maximum: bool
    is_of_ratio: bool

    def is_met(self, figure: float) -> bool:
        return figure <= self.bound if self.is_maximum else figure >= self.bound


def at_most(bound: float) -> Goal:
    return Goal(bound, is_maximum=True, is_of_ratio=False)


def at_least(bound: float) -> Goal:
    return Goal(bound, is_maximum=False, is_of_ratio=False)


def ratio_at_most(bound: float) -> Goal:
    return Goal(bound, is_maximum=True, is_of_ratio=True)


def ratio_at_least(bound: float) -> Goal:
    return Goal(bound, is_maximum=False, is_of_ratio=True)


@dataclass(frozen=True)
class Result:
    """A figure.

    Attributes:
        part: The part of the benchmark that measured it.
        limit: What it is compared with, measured in the same run and in the same unit: the bare work, or the same with
            fewer chunks or sources.
        limit_name: What the limit is.
        ratio: Of the value to the limit. It may be a median of the ratios of several rounds.
    """

    part: str
    name: str
    value: float
    unit: str
    limit: float | None = None
    limit_name: str = ""
    ratio: float | None = None
    goal: Goal | None = None

    @property
    def is_met(self) -> bool | None:
        """Whether the goal is met; None without a goal."""
        figure = self.ratio if self.goal and self.goal.is_of_ratio else self.value
        return None if self.goal is None or figure is None else self.goal.is_met(figure)

    def as_json(self) -> dict[str, Any]:
        goal = self.goal and {
            "at_most" if self.goal.is_maximum else "at_least": self.goal.bound,
            "of": "ratio" if self.goal.is_of_ratio else "value",
        }
        return {
            "part": self.part, "name": self.name, "value": self.value, "unit": self.unit, "limit": self.limit,
            "limit_name": self.limit_name, "ratio": self.ratio, "goal": goal, "is_met": self.is_met,
        }  # fmt: skip


class Results:
    """Collects the figures, and writes them after each part, so that an interrupted run loses none.

    Attributes:
        about: The machine, versions, date and sizes of the run.
        details: What parts have measured in addition, for the plots.
        failures: Parts that could not be measured, with the reason.
    """

    def __init__(self, out: Path, about: dict[str, Any]) -> None:
        self._out = out
        self.about = about
        self.rows: list[Result] = []
        self.details: dict[str, Any] = {}
        self.failures: dict[str, str] = {}

    def add(
        self, part: str, name: str, value: float, unit: str, *, limit: float | None = None, limit_name: str = "",
        ratio: float | None = None, goal: Goal | None = None,
    ) -> None:  # fmt: skip
        """Add a figure. Its ratio is that of the value to the limit unless it is given."""
        if ratio is None and limit:
            ratio = value / limit
        self.rows.append(Result(part, name, value, unit, limit, limit_name, ratio, goal))

    def by_part(self) -> dict[str, list[Result]]:
        """The figures of each part, in the order in which the parts began."""
        rows: dict[str, list[Result]] = {}
        for row in self.rows:
            rows.setdefault(row.part, []).append(row)
        return rows

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Run the block; record its exception as a failure, so that the run continues."""
        try:
            yield
        except Exception as error:
            traceback.print_exc()
            self.failures[name] = f"{type(error).__name__}: {error}".strip()[:300]
        self.write()

    def as_json(self) -> dict[str, Any]:
        return {
            **self.about,
            "results": [row.as_json() for row in self.rows],
            "failures": self.failures,
            "details": self.details,
        }

    def write(self) -> None:
        self._out.parent.mkdir(parents=True, exist_ok=True)
        partial = self._out.with_name(self._out.name + ".partial")
        partial.write_text(json.dumps(_rounded(self.as_json()), indent=1, ensure_ascii=False) + "\n")
        os.replace(partial, self._out)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    if isinstance(value, float):
        return round(value, 4) if math.isfinite(value) else None  # JSON has no NaN and no infinity
    return value
