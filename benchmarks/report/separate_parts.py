"""Runs the parts that have databases of their own, and reports their figures.

Their modules print more than what is reported. Each starts with empty data, except for that of growth, which
takes long to write.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import results
from benchmarks.search.growth.__main__ import measure as measure_growth

_MAX_GROWTH_RATIO, _MIN_RECALL, _MAX_SCOPE_RATIO = 2.0, 0.97, 3.0
_MAX_SOURCES_RATIO = 1.2
_MIN_LOAD_RATIO, _MAX_P99_RATIO = 0.75, 4.0
# The largest ratios of requests to the bare work: of times, by path, of CPU times, and of row-level security.
_MAX_HTTP_RATIOS = {"/api/rag/search": 1.25, "/api/rag/retrieve reranked": 1.5, "/api/rag/query": 2.0}
_MAX_CPU_RATIO, _MAX_RLS_RATIO = 1.6, 1.05
# What `make bench` has set for its own database.
_SERVICES = ("DATABASE_URL", "REDIS_URL", "RAGSITE_DATA")


def run_http(report: results.Results, *, chunks: int, documents: int) -> None:
    """One client's requests, beside embedding and SQL alone."""
    add_http(report, _run("one_client", {"BENCH_CHUNKS": str(chunks), "BENCH_DOCUMENTS": str(documents)}))


def run_growth(report: results.Results, counts: Sequence[int]) -> None:
    """Times, sizes and recall with each number of chunks, in var/growth."""
    # Both parts, because the file of an earlier run may have figures of a part that is left out.
    by_count = measure_growth(counts, {**_environment(), "BENCH_TIMES": "1", "BENCH_RECALL": "1"})
    report.details["growth"] = by_count
    add_growth(report, by_count)


def run_sources(report: results.Results, counts: Sequence[int], *, chunks: int, questions: int) -> None:
    """The same chunks in each number of sources."""
    sizes = {
        "BENCH_SOURCES": ",".join(map(str, counts)), "BENCH_CHUNKS": str(chunks), "BENCH_QUESTIONS": str(questions),
        "BENCH_PARTS": "http",
    }  # fmt: skip
    cells = _run("many_sources", sizes)
    report.details["sources"] = cells
    add_sources(report, cells)


def run_load(report: results.Results, *, chunks: int, seconds: float) -> None:
    """Many clients at once."""
    figures = _run("many_clients", {"BENCH_CHUNKS": str(chunks), "BENCH_SECONDS": str(seconds)})
    report.details["load"] = figures
    add_load(report, figures)


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _SERVICES}


def _run(module: str, sizes: Mapping[str, str]) -> Any:
    """Run a module of benchmarks.search in a new data folder, and return what it has written."""
    folder = Path(os.environ["RAGSITE_DATA"]).with_name(f"bench-{module}".replace("_", "-"))
    embedded = [sys.executable, "-m", "ragsite.embedded", str(folder)]
    environment = {**_environment(), **sizes}
    subprocess.run([*embedded, "--delete"], env=environment, check=True)
    command = [*embedded, "--throwaway", sys.executable, "-m", f"benchmarks.search.{module}"]
    subprocess.run(command, env=environment, check=True)
    return json.loads((folder / f"{module}.json").read_text())


def add_http(report: results.Results, figures: Mapping[str, Any]) -> None:
    """Report the times of each path beside embedding and SQL alone, and those of row-level security."""
    part = f"search over HTTP, {figures['chunks']:,} chunks"
    for path, row in figures["paths"].items():
        address, _, how = path.partition(" ")
        if path == "/api/rag/retrieve":
            how = "without reranking"
        name = f"`POST {address}`{', ' if how else ''}{how}"
        report.add(
            part, f"{name}, p50", row["p50"], "ms", limit=sum(row["bare"]), limit_name="embedding and SQL alone",
            goal=results.ratio_at_most(_MAX_HTTP_RATIOS[path]) if path in _MAX_HTTP_RATIOS else None,
        )  # fmt: skip
        report.add(part, f"{name}, p95", row["p95"], "ms")
        report.add(
            part, f"{name}, CPU time", row["cpu"], "ms", limit=row["bare_cpu"], limit_name="embedding and SQL alone",
            goal=results.ratio_at_most(_MAX_CPU_RATIO),
        )  # fmt: skip
    protected = figures["row_level_security"]
    report.add(
        part, "`POST /api/rag/retrieve` with row-level security, p50", protected["with"], "ms",
        limit=protected["without"], limit_name="without it", goal=results.ratio_at_most(_MAX_RLS_RATIO),
    )  # fmt: skip


def add_growth(report: results.Results, by_count: Mapping[int, dict[str, Any]]) -> None:
    """Report times beside those with the fewest chunks, and the worst scopes beside all chunks."""
    smallest = min(by_count)
    for count, figures in by_count.items():
        size = sum(figures["bytes"].values()) / count
        report.add("growth", f"{count:,} chunks: size of a chunk with its indexes", size, "bytes")
        for name, (p50, p95) in {**figures.get("http", {}), **figures.get("process", {})}.items():
            fewest = {**by_count[smallest].get("http", {}), **by_count[smallest].get("process", {})}[name][0]
            label = f"{count:,} chunks: {f'`POST {name[5:]}`' if name.startswith('HTTP ') else name}"
            if count == smallest:
                report.add("growth", f"{label}, p50", p50, "ms")
            else:
                report.add(
                    "growth", f"{label}, p50", p50, "ms", limit=fewest, limit_name=f"{smallest:,} chunks",
                    goal=results.ratio_at_most(_MAX_GROWTH_RATIO),
                )  # fmt: skip
            report.add("growth", f"{label}, p95", p95, "ms")
        for topic in ("on topic", "off topic"):
            _add_scopes(report, count, topic, [cell for cell in figures.get("cells", []) if cell["topic"] == topic])


def _add_scopes(report: results.Results, count: int, topic: str, cells: Sequence[dict[str, Any]]) -> None:
    if not cells:
        return
    part = "recall and times within scopes"
    worst = min(cells, key=lambda cell: cell["recall"])
    report.add(
        part, f"{count:,} chunks, {topic}: lowest recall@10, in {worst['label']}", worst["recall"], "",
        limit=1.0, limit_name="all vectors compared", goal=results.at_least(_MIN_RECALL),
    )  # fmt: skip
    slowest = max(cells, key=lambda cell: cell["p95"] / cell["everything_p95"])
    report.add(
        part, f"{count:,} chunks, {topic}: largest p95, in {slowest['label']}", slowest["p95"], "ms",
        limit=slowest["everything_p95"], limit_name="the same questions in all chunks",
        goal=results.ratio_at_most(_MAX_SCOPE_RATIO),
    )  # fmt: skip


def add_sources(report: results.Results, cells: Sequence[dict[str, Any]]) -> None:
    """Report p50 beside that of the same chunks in the fewest sources."""
    for cell in cells:
        first = next((other for other in cells if _is_same_with_fewest(other, cell, cells)), None)
        label = f"{_request(cell['path'])}, {cell['label']}"
        if first is None or first is cell:
            report.add("number of sources", f"{label}, p50", cell["p50"], "ms")
            continue
        is_search = cell["path"] in ("/api/rag/search", "/api/rag/retrieve", "/api/rag/query")
        goal = results.ratio_at_most(_MAX_SOURCES_RATIO) if is_search else None
        for figure, key, ratio in (("p50", "p50", "time_ratio"), ("CPU time", "cpu", "cpu_ratio")):
            report.add(
                "number of sources", f"{label}, {figure}", cell[key], "ms", limit=first[key],
                limit_name=first["label"], ratio=cell[ratio], goal=goal,
            )  # fmt: skip


def _is_same_with_fewest(other: dict[str, Any], cell: dict[str, Any], cells: Sequence[dict[str, Any]]) -> bool:
    rows = [row for row in cells if row["kind"] and (row["path"], row["kind"]) == (cell["path"], cell["kind"])]
    return bool(rows) and other is min(rows, key=lambda row: row["sources"])


def _request(path: str) -> str:
    """What a request of this path asks for."""
    if path.endswith("/sources"):
        return "a page of the list of sources"
    return "documents of a source" if path.endswith("/documents") else f"`POST {path}`"


def add_load(report: results.Results, figures: dict[str, Any]) -> None:
    for path, row in figures["paths"].items():
        label = f"`POST {path}`, {figures['clients']} clients"
        report.add(
            "many clients at once", label, row["rate"], "requests/s", limit=figures["bare"],
            limit_name="embedding and SQL alone", goal=results.ratio_at_least(_MIN_LOAD_RATIO),
        )  # fmt: skip
        report.add(
            "many clients at once", f"{label}, p99", row["p99"], "ms", limit=row["p50"], limit_name="p50",
            goal=results.ratio_at_most(_MAX_P99_RATIO),
        )  # fmt: skip
    statuses = figures["at_once"]["statuses"]
    total = sum(statuses.values())
    for status, count in sorted(statuses.items()):
        name = f"requests at the same moment, replies with {status}"
        report.add("many clients at once", name, count, "", limit=total, limit_name="all")
