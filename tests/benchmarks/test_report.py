"""What make bench reports: the table, the page, JSON and plots, from figures that are given here."""

import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

from benchmarks import __main__ as bench
from benchmarks.report import charts, separate_parts, tables
from benchmarks.report.results import Results, at_least, at_most, ratio_at_least, ratio_at_most
from benchmarks.support import plots

ABOUT = {
    "date": "2026-11-29T10:00:00+00:00",
    "seconds": 600,
    "commit": "0123456789ab",
    "machine": {"processor": "A processor", "cores": 2, "memory": 24 * 2**30, "load at the beginning": 0.3},
    "versions": {"ragsite": "0.1.0", "Python": "3.11.9", "PostgreSQL": "18.4", "pgvector": "0.8.5"},
    "sizes": {"BENCH_FILL": "5000"},
    "texts": "the documentation",
}
PERCENTS = (0.02, 1, 100)


@pytest.fixture
def report(tmp_path: Path) -> Results:
    return Results(tmp_path / "results" / "bench.json", dict(ABOUT))


def cell(
    percent: float, *, topic: str = "on topic", recall: float = 1.0, p95: float = 20.0, everything_p95: float = 20.0
) -> dict[str, Any]:
    label = f"{percent:g} % mixed, permissions"
    return {
        "label": label, "topic": topic, "chunks": 10, "recall": recall, "fewest_rows": 10, "p50": 9.0, "p95": p95,
        "everything_p50": 9.0, "everything_p95": everything_p95,
    }  # fmt: skip


def growth(factor: float) -> dict[str, Any]:
    return {
        "bytes": {"rag_chunk": 5_000_000.0, "rag_chunk index": 1_000_000.0},
        "http": {"HTTP /api/rag/search": (30.0 * factor, 40.0 * factor)},
        "process": {"search in process, dense": (20.0 * factor, 30.0 * factor)},
        "cells": [
            cell(0.02, recall=0.96, p95=90.0, everything_p95=60.0), cell(1, p95=70.0), cell(100),
            cell(0.02, topic="off topic"), cell(100, topic="off topic"), cell(0.02, topic="no topic", recall=0.1),
        ],
    }  # fmt: skip


SOURCES: list[dict[str, Any]] = [
    {"path": "/api/rag/search", "label": "5 public sources", "kind": "public", "sources": 5, "p50": 30.0, "p95": 40.0,
     "cpu": 20.0},
    {"path": "/api/rag/search", "label": "5,000 public sources", "kind": "public", "sources": 5000, "p50": 33.0,
     "p95": 41.0, "cpu": 30.0, "time_ratio": 1.12, "cpu_ratio": 1.5},
    {"path": "/api/rag/retrieve", "label": "5,000 of 5,000 private sources, 50 named", "kind": "", "sources": 50,
     "p50": 33.0, "p95": 41.0, "cpu": 30.0},
    {"path": "/api/rag/sources", "label": "5,000 public sources", "kind": "public", "sources": 5000, "p50": 80.0,
     "p95": 81.0, "cpu": 50.0},
]  # fmt: skip


@pytest.mark.parametrize(
    ("goal", "value", "is_met"),
    [
        (None, 1.0, None),
        (at_most(2.0), 2.0, True),
        (at_most(2.0), 2.1, False),
        (at_least(2.0), 1.9, False),
        (ratio_at_most(1.2), 12.0, True),  # of 10
        (ratio_at_most(1.2), 13.0, False),
        (ratio_at_least(0.9), 9.0, True),
        (ratio_at_least(0.9), 8.0, False),
    ],
)
def test_a_goal_is_compared_with_the_value_or_the_ratio(
    report: Results, goal: Any, value: float, is_met: bool | None
) -> None:
    report.add("search", "p50", value, "ms", limit=10.0, limit_name="bare", goal=goal)
    assert report.rows[0].is_met is is_met


def test_a_ratio_of_rounds_is_kept(report: Results) -> None:
    report.add("ingestion", "job", 9.0, "chunks/s", limit=10.0, ratio=0.95, goal=ratio_at_least(0.94))
    assert (report.rows[0].ratio, report.rows[0].is_met) == (0.95, True)


def test_figures_are_written_after_each_part_and_a_part_that_fails_is_noted(report: Results, tmp_path: Path) -> None:
    file = tmp_path / "results" / "bench.json"
    with report.part("search"):
        report.add("search", "p50", 30.123456, "ms", limit=20.0, limit_name="bare", goal=ratio_at_most(1.25))
    assert len(json.loads(file.read_text())["results"]) == 1
    with report.part("growth"):
        report.add("growth", "endless", float("inf"), "ms")
        raise ValueError("no disk")
    written = json.loads(file.read_text())
    assert written["machine"]["cores"] == 2
    assert written["versions"]["pgvector"] == "0.8.5"
    assert (written["date"], written["commit"]) == (ABOUT["date"], ABOUT["commit"])
    assert written["failures"] == {"growth": "ValueError: no disk"}
    assert written["results"][0] == {
        "part": "search", "name": "p50", "value": 30.1235, "unit": "ms", "limit": 20.0, "limit_name": "bare",
        "ratio": 1.5062, "goal": {"at_most": 1.25, "of": "ratio"}, "is_met": False,
    }  # fmt: skip
    assert written["results"][1]["value"] is None


def test_the_printed_table_has_every_figure_with_its_limit_and_goal(report: Results) -> None:
    report.add("search", "p50 [1]", 30.0, "ms", limit=20.0, limit_name="bare", goal=ratio_at_most(1.25))
    report.add("migration", "new database", 1.5, "s", goal=at_most(2.0))
    report.failures["growth"] = "ValueError: no disk"
    output = io.StringIO()
    tables.show(Console(file=output, width=200), report)
    text = output.getvalue()
    row = next(line for line in text.splitlines() if "p50 [1]" in line)
    assert all(part in row for part in ("30 ms", "bare: 20 ms", "1.50", "≤ 1.25 ×", "NO"))
    assert any("1.5 s" in line and "≤ 2 s" in line and "yes" in line for line in text.splitlines())
    assert "1 of 2 goals are met" in text
    assert "NOT MEASURED growth: ValueError: no disk" in text


def test_growth_is_compared_with_the_fewest_chunks_and_scopes_with_the_same_questions_in_all_chunks(
    report: Results,
) -> None:
    separate_parts.add_growth(report, {10_000: growth(1), 1_000_000: growth(2.5)})
    rows = {row.name: row for row in report.rows}
    search = rows["1,000,000 chunks: `POST /api/rag/search`, p50"]
    assert (search.value, search.limit, search.ratio, search.is_met) == (75.0, 30.0, 2.5, False)
    assert rows["10,000 chunks: `POST /api/rag/search`, p50"].limit is None
    assert rows["10,000 chunks: size of a chunk with its indexes"].value == 600
    recall = rows["10,000 chunks, on topic: lowest recall@10, in 0.02 % mixed, permissions"]
    assert (recall.value, recall.is_met) == (0.96, False)
    slowest = rows["10,000 chunks, on topic: largest p95, in 1 % mixed, permissions"]
    assert (slowest.value, slowest.limit, slowest.is_met) == (70.0, 20.0, False)
    assert rows["10,000 chunks, off topic: largest p95, in 0.02 % mixed, permissions"].is_met


def test_requests_are_compared_with_embedding_and_sql_alone(report: Results) -> None:
    row = {"p50": 60.0, "p95": 80.0, "bare": [5.0, 20.0, 15.0], "cpu": 66.0, "bare_cpu": 40.0}
    paths = {"/api/rag/search": row, "/api/rag/retrieve": row, "/api/rag/retrieve reranked": row}
    protection = {"with": 52.0, "without": 50.0}
    separate_parts.add_http(report, {"chunks": 100_000, "paths": paths, "row_level_security": protection})
    rows = {row.name: row for row in report.rows}
    search = rows["`POST /api/rag/search`, p50"]
    assert (search.value, search.limit, search.ratio, search.is_met) == (60.0, 40.0, 1.5, False)
    assert rows["`POST /api/rag/retrieve`, without reranking, p50"].is_met is None
    assert rows["`POST /api/rag/retrieve`, reranked, p50"].is_met
    assert rows["`POST /api/rag/retrieve`, reranked, CPU time"].is_met is False
    assert rows["`POST /api/rag/retrieve` with row-level security, p50"].is_met
    assert {row.part for row in report.rows} == {"search over HTTP, 100,000 chunks"}


def test_sources_are_compared_with_the_fewest_of_the_same_kind(report: Results) -> None:
    separate_parts.add_sources(report, SOURCES)
    rows = {row.name: row for row in report.rows}
    assert rows["`POST /api/rag/search`, 5 public sources, p50"].limit is None
    many = rows["`POST /api/rag/search`, 5,000 public sources, p50"]
    assert (many.value, many.limit, many.ratio, many.is_met) == (33.0, 30.0, 1.12, True)
    assert rows["`POST /api/rag/search`, 5,000 public sources, CPU time"].is_met is False
    assert rows["`POST /api/rag/retrieve`, 5,000 of 5,000 private sources, 50 named, p50"].goal is None


def test_load_is_compared_with_the_bare_rate_and_p99_with_p50(report: Results) -> None:
    path = {"rate": 30.0, "p50": 300.0, "p99": 1500.0, "statuses": {"200": 600}}
    at_once = {"statuses": {"200": 900, "503 with Retry-After": 100}, "last": 9000.0}
    separate_parts.add_load(
        report, {"bare": 40.0, "clients": 16, "paths": {"/api/rag/search": path}, "at_once": at_once}
    )
    assert [(row.value, row.limit, row.is_met) for row in report.rows] == [
        (30.0, 40.0, True), (1500.0, 300.0, False), (900, 1000, None), (100, 1000, None),
    ]  # fmt: skip


@pytest.mark.parametrize("into_docs", [True, False])
def test_the_page_has_the_table_and_links_to_its_plots(report: Results, tmp_path: Path, into_docs: bool) -> None:
    by_count = {10_000: growth(1), 50_000: growth(1.5)}
    report.details.update(growth=by_count, sources=SOURCES)
    separate_parts.add_growth(report, by_count)
    docs = tmp_path / "docs" if into_docs else None
    old = (tmp_path / "docs" / "images" if into_docs else tmp_path / "results") / "performance-old.svg"
    old.parent.mkdir(parents=True)
    old.write_text("of an earlier run")
    out = tmp_path / "results" / "bench.json"
    page = bench.write_page(report, out, docs)
    text = page.read_text()
    assert page == (docs or out.parent) / "performance-latest.md"
    assert "Generated by `make bench`" in "\n".join(text.splitlines()[:4])
    assert text.count("## Growth") == 1
    for expected in ("A processor, 2 cores, 24 GB", "PostgreSQL 18.4, pgvector 0.8.5", "0123456789ab", "## Growth"):
        assert expected in text
    assert (
        "| 50,000 chunks: search in process, dense, p50 | 30 ms | 10,000 chunks: 20 ms | 1.50 | ≤ 2 × | yes |" in text
    )
    assert ("](../results/bench.json)" if into_docs else "](bench.json)") in text
    folder = "images/" if into_docs else ""
    names = ("recall", "scopes", "growth", "sources")
    assert all(f"]({folder}performance-{name}.svg)" in text for name in names)
    assert {file.name for file in old.parent.glob("performance-*.svg")} == {f"performance-{name}.svg" for name in names}


def test_plots_show_what_was_measured() -> None:
    drawn = charts.draw({"growth": {10_000: growth(1), 50_000: growth(1.5)}, "sources": SOURCES})
    assert [chart.name for chart in drawn] == [
        "performance-recall", "performance-scopes", "performance-growth", "performance-sources"
    ]  # fmt: skip
    roots = {chart.name: ElementTree.fromstring(chart.svg) for chart in drawn}  # noqa: S314
    hints = {name: [element.text or "" for element in root.iter() if element.tag.endswith("title")]
             for name, root in roots.items()}  # fmt: skip
    assert "10,000 chunks, 0.02: 0.96" in hints["performance-recall"]  # not 0.1, of questions without a topic
    assert "50,000 p95, 1: 70" in hints["performance-scopes"]
    assert "dense, 50,000: 30" in hints["performance-growth"]
    assert "search public, 5,000: 33" in hints["performance-sources"]
    assert charts.draw({}) == []


def test_large_numbers_are_written_out() -> None:
    points = {"search": [(10_000.0, 30.0), (1_000_000.0, 60.0)]}
    axes = (plots.logarithmic("chunks", [10_000, 1_000_000]), plots.from_zero("ms", [30, 60]))
    svg = plots.lines("Growth", points, axes, marked=True).decode()
    assert ">1,000,000<" in svg
    assert "search, 1,000,000: 60" in svg


def test_axes_begin_at_zero_or_show_each_value() -> None:
    axis = plots.from_zero("ms", [3.0, 118.0])
    assert (axis.low, axis.high, axis.ticks) == (0.0, 150.0, (0.0, 50.0, 100.0, 150.0))
    chunks = plots.logarithmic("chunks", [10_000, 1_000_000, 100_000, 10_000])
    assert chunks.ticks == (10_000, 100_000, 1_000_000)
    assert [chunks.share(value) for value in chunks.ticks] == pytest.approx([0, 0.5, 1])
    assert plots.logarithmic("chunks", [10_000]).share(10_000) == 0.5


def test_full_measures_a_million_chunks() -> None:
    assert "1000000" not in bench.sizes({})["BENCH_GROWTH"]
    assert "1000000" in bench.sizes({"BENCH": "full"})["BENCH_GROWTH"]
    assert bench.sizes({"BENCH": "full", "BENCH_GROWTH": "5000"})["BENCH_GROWTH"] == "5000"
