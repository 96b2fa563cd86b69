"""make bench: measures the product beside its limits, in the same run: the embedder and SQL alone, or fewer chunks.

It runs real processes on the embedded services (gunicorn, a Celery worker), on loopback, and deletes what it creates.
The parts of benchmarks.report.separate_parts have services of their own. The figures are printed as one table, and
written as JSON and as a page with plots into the documentation; or, if OUT names a JSON file, beside this file.
"""

import os
import time
from pathlib import Path
from typing import Any

from benchmarks.report import charts, machine, results, tables
from benchmarks.support.server import Server, free_port
from benchmarks.support.set_up import set_up_django

_ROOT = Path(__file__).parents[1]
# What changes the sizes, with the defaults. 0 or nothing leaves a part out.
_SIZES = {
    # Eight long documents, of which two workers embed equal shares.
    "BENCH_DOCUMENTS": "320",
    "BENCH_INGESTION": "1",
    # How many chunks are embedded by the endpoint that is 50 ms away.
    "BENCH_FIRST_LOAD": "30000",
    "BENCH_LIVE": "6000",
    "BENCH_FILL": "100000",
    "BENCH_GROWTH": "10000,50000",
    "BENCH_SOURCES": "5,500,5000",
    # Of the parts with many sources and with many clients.
    "BENCH_CHUNKS": "20000",
    "BENCH_QUESTIONS": "30",
    "BENCH_SECONDS": "20",
}
_FULL_GROWTH = "10000,100000,1000000"


def sizes(environment: Any) -> dict[str, str]:
    """Return the sizes of this run. BENCH=full measures 1,000,000 chunks as well."""
    defaults = {**_SIZES, "BENCH_GROWTH": _FULL_GROWTH} if environment.get("BENCH") == "full" else _SIZES
    return {name: environment.get(name, default) for name, default in defaults.items()}


def main() -> int:
    set_up_django()
    from rich.console import Console

    from benchmarks.support import corpus

    started = time.monotonic()
    chosen = sizes(os.environ)
    out = Path(os.environ.get("OUT") or _ROOT / "benchmarks" / "results" / "bench.json").absolute()
    documents = corpus.documents(limit=int(chosen["BENCH_DOCUMENTS"]))
    report = results.Results(out, {**machine.describe(), "sizes": chosen, "texts": corpus.origin()})
    print(f"{len(documents)} documents from {corpus.origin()}, {os.cpu_count()} cores\n", flush=True)
    _measure_server(report, documents, chosen)
    _measure_separate_parts(report, chosen)
    report.about["seconds"] = round(time.monotonic() - started)
    report.write()
    tables.show(Console(width=None if os.isatty(1) else 180), report)
    page = write_page(report, out, None if os.environ.get("OUT") else _ROOT / "docs")
    print(f"{out} has all figures, {page} the table and plots", flush=True)
    return 1 if report.failures else 0


def _measure_server(report: results.Results, documents: list[dict[str, str]], chosen: dict[str, str]) -> None:
    """Everything that one web server and one worker are asked for."""
    from benchmarks.ingestion import jobs, remote_model
    from benchmarks.speed import contract_targets
    from benchmarks.support import corpus
    from benchmarks.support.api_client import ApiClient

    folder = Path(os.environ["RAGSITE_DATA"])
    with Server(folder, free_port()) as server, ApiClient(server.address) as api:
        with report.part("targets"):
            contract_targets.measure(api, report)
        if chosen["BENCH_INGESTION"] != "0":
            with report.part("ingestion"):
                jobs.measure(api, documents, "short", report)
                jobs.measure(api, corpus.longer(documents), "long", report)
        if first_load := int(chosen["BENCH_FIRST_LOAD"]):
            with report.part("remote embedding"):
                remote_model.measure(api, documents, report, first_load=first_load, live=int(chosen["BENCH_LIVE"]))


def _measure_separate_parts(report: results.Results, chosen: dict[str, str]) -> None:
    from benchmarks.report import separate_parts
    from benchmarks.speed import migration

    if fill := int(chosen["BENCH_FILL"]):
        with report.part("search over HTTP"):
            separate_parts.run_http(report, chunks=fill, documents=int(chosen["BENCH_DOCUMENTS"]))
    chunks = int(chosen["BENCH_CHUNKS"])
    with report.part("migration"):
        migration.measure(report)
    if counts := _numbers(chosen["BENCH_SOURCES"]):
        with report.part("number of sources"):
            separate_parts.run_sources(report, counts, chunks=chunks, questions=int(chosen["BENCH_QUESTIONS"]))
    if seconds := float(chosen["BENCH_SECONDS"]):
        with report.part("many clients at once"):
            separate_parts.run_load(report, chunks=chunks, seconds=seconds)
    if counts := _numbers(chosen["BENCH_GROWTH"]):
        with report.part("growth"):
            separate_parts.run_growth(report, counts)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number.strip("0 ")]


def write_page(report: results.Results, out: Path, docs: Path | None) -> Path:
    """Write the page and its plots into the documentation, or beside the JSON file. Return the page's path."""
    folder = docs or out.parent
    images = folder / "images" if docs else folder
    images.mkdir(parents=True, exist_ok=True)
    for file in images.glob("performance-*.svg"):
        file.unlink()
    drawn = charts.draw(report.details)
    for chart in drawn:
        (images / f"{chart.name}.svg").write_bytes(chart.svg)
    links = [(chart.caption, os.path.relpath(images / f"{chart.name}.svg", folder)) for chart in drawn]
    page = folder / "performance-latest.md"
    page.write_text(tables.as_page(report, json_link=os.path.relpath(out, folder), plots=links))
    return page


if __name__ == "__main__":
    raise SystemExit(main())
