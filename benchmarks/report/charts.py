"""The plots of a run: recall and times against the size of a scope, growth, and the number of sources."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.support import plots

_Points = dict[str, list[tuple[float, float]]]


@dataclass(frozen=True)
class Chart:
    """A plot, and the name of its file."""

    name: str
    caption: str
    svg: bytes


def draw(details: Mapping[str, Any]) -> list[Chart]:
    """Draw what has been measured: "growth" (figures by number of chunks) and "sources" (cells)."""
    charts = []
    growth = details.get("growth", {})
    cells = {count: figures["cells"] for count, figures in growth.items() if figures.get("cells")}
    if cells:
        recalls = {f"{count:,} chunks": by_scope(rows, "recall", min) for count, rows in cells.items()}
        charts.append(
            _chart("performance-recall", "Lowest recall of all scopes of a size", recalls, _SCOPE, _recall_axis)
        )
        times = {}
        for count, rows in cells.items():
            times[f"{count:,} p50"] = by_scope(rows, "p50", statistics.median)
            times[f"{count:,} p95"] = by_scope(rows, "p95", max)
        caption = "Searches within scopes of a size: median p50 and largest p95"
        charts.append(_chart("performance-scopes", caption, times, _SCOPE, _milliseconds))
    requests = _by_chunks(growth)
    if requests:
        caption = "p50 of requests over HTTP, and of searches in process, by number of chunks"
        charts.append(_chart("performance-growth", caption, requests, "chunks", _milliseconds))
    sources = _by_sources(details.get("sources", []))
    if sources:
        caption = "p50 of requests over HTTP by number of data sources, with the same chunks"
        charts.append(_chart("performance-sources", caption, sources, "data sources", _milliseconds))
    return charts


_SCOPE = "scope: percent of all chunks"


def by_scope(cells: Sequence[dict[str, Any]], figure: str, combine: Any) -> list[tuple[float, float]]:
    """Return one figure for each size of scope, of the questions that are like real ones."""
    values: dict[float, list[float]] = {}
    for cell in cells:
        if cell["topic"] != "no topic":
            values.setdefault(float(cell["label"].partition(" %")[0]), []).append(cell[figure])
    return [(percent, combine(values[percent])) for percent in sorted(values)]


def _by_chunks(growth: Mapping[int, dict[str, Any]]) -> _Points:
    points: _Points = {}
    for count in sorted(growth):
        for name, (p50, _) in {**growth[count].get("http", {}), **growth[count].get("process", {})}.items():
            points.setdefault(name.replace("search in process, ", "").rpartition("/")[2], []).append((count, p50))
    return points


def _by_sources(cells: Sequence[dict[str, Any]]) -> _Points:
    """Searches of public sources, and of private ones of which the reader may query all."""
    points: _Points = {}
    for cell in sorted(cells, key=lambda cell: cell["sources"]):
        request = cell["path"].rpartition("/")[2]
        if cell["kind"] and request in ("search", "retrieve", "query"):
            points.setdefault(f"{request} {cell['kind']}", []).append((cell["sources"], cell["p50"]))
    return points


def _chart(name: str, caption: str, by_set: _Points, across: str, upwards: Any) -> Chart:
    points = [point for series in by_set.values() for point in series]
    axes = (plots.logarithmic(across, [x for x, _ in points]), upwards([y for _, y in points]))
    return Chart(name, caption, plots.lines(caption, by_set, axes, marked=True))


def _milliseconds(values: Sequence[float]) -> plots.Axis:
    return plots.from_zero("ms", values)


def _recall_axis(values: Sequence[float]) -> plots.Axis:
    """From 0.9, or from the tenth below the lowest recall."""
    low = min(9, math.floor(10 * min(values))) / 10
    ticks = tuple(round(low + number * (1 - low) / 5, 3) for number in range(6))
    return plots.Axis("recall@10", low, 1.0, ticks)
