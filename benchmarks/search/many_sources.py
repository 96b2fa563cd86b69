"""Search with many data sources: python -m ragsite.embedded var/sources -- python -m benchmarks.search.many_sources

The same chunks are divided among 5, 500 and 5,000 sources. Prints the times of whole requests over HTTP in alternation,
their ratios to those with 5 sources, and the statements of one search of each kind. BENCH_CHUNKS, BENCH_SOURCES and
BENCH_QUESTIONS change the numbers; BENCH_PARTS=http leaves out the statements, BENCH_PARTS=statements HTTP, and
BENCH_PRIVATE=0 the organisations with private sources. The figures of HTTP are also in many_sources.json in the data
folder.
"""

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.support.set_up import migrate, set_up_django
from ragsite.postgres import identity

_WARM_UP, _QUESTIONS = 10, int(os.environ.get("BENCH_QUESTIONS", "60"))
# Lists are asked for once for so many questions.
_LIST_EVERY = 10


def main() -> None:
    set_up_django()
    from benchmarks.search import synthetic_organizations
    from benchmarks.support import corpus

    migrate()
    chunks = int(os.environ.get("BENCH_CHUNKS", "20000"))
    counts = [int(count) for count in os.environ.get("BENCH_SOURCES", "5,500,5000").split(",")]
    library = synthetic_organizations.Library(chunks)
    readers = [library.open_reader(count) for count in counts]
    if os.environ.get("BENCH_PRIVATE", "1") == "1":
        # Those who may query all private sources, and thus the same chunks.
        readers += [reader for count in counts for reader in library.closed_readers(count)[-1:]]
    synthetic_organizations.build_index()
    questions = corpus.questions(limit=_QUESTIONS + _WARM_UP)
    print(f"{chunks:,} chunks in each organisation, {os.cpu_count()} cores", flush=True)
    parts = os.environ.get("BENCH_PARTS", "statements,http")
    if "statements" in parts:
        for reader in readers:
            _profile(reader, questions)
    if "http" in parts:
        folder = Path(os.environ["RAGSITE_DATA"])
        (folder / "many_sources.json").write_text(json.dumps(_measure_http(readers, questions, folder), indent=1))


def _profile(reader: Any, questions: list[str]) -> None:
    """Print the statements of a search within this process, with their median times."""
    from orgs.access.caller import Caller
    from rag.services.queries import permitted_queries
    from rag.services.queries.source_selection import SourceSelection
    from rag.types import Question

    caller = Caller(reader.user)
    times: dict[str, list[float]] = {}
    totals = []
    with identity.run_as(caller.database_identity):
        for number, text in enumerate(questions[:25]):
            with _timed_statements() as statements:
                started = time.perf_counter()
                retrieval = permitted_queries.search(Question(text, 10), SourceSelection(caller))
                total = 1000 * (time.perf_counter() - started)
            if number >= 5:  # the first ones warm caches up
                totals.append(total)
                for place, (statement, milliseconds) in enumerate(statements):
                    times.setdefault(f"{place:2} {statement}", []).append(milliseconds)
    print(f"\n{reader.label}: {statistics.median(totals):.1f} ms, {len(retrieval.passages)} passages", flush=True)
    for statement, durations in sorted(times.items()):
        if len(durations) > 5:
            print(f"   {statistics.median(durations):6.1f} ms  {statement}", flush=True)


@contextmanager
def _timed_statements() -> Iterator[list[tuple[str, float]]]:
    from django.db import connection

    statements: list[tuple[str, float]] = []

    def timed(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        started = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            statements.append((" ".join(str(sql).split())[:100], 1000 * (time.perf_counter() - started)))

    with connection.execute_wrapper(timed):
        yield statements


@dataclass(frozen=True)
class _Cell:
    """A row of the table: a reader's requests of one kind, and their times and CPU times in milliseconds."""

    label: str
    sources: int
    path: str
    send: Callable[[str], Any]
    times: list[float] = field(default_factory=list)
    cpu_times: list[float] = field(default_factory=list)

    def ask(self, question: str, cpu_clock: Any) -> None:
        cpu_before, started = cpu_clock.milliseconds(), time.perf_counter()
        self.send(question)
        self.times.append(1000 * (time.perf_counter() - started))
        self.cpu_times.append(cpu_clock.milliseconds() - cpu_before)


def _measure_http(readers: list[Any], questions: list[str], folder: Path) -> list[dict[str, Any]]:
    from benchmarks.support.cpu_clock import CpuClock
    from benchmarks.support.server import Server, free_port

    cpu_clock = CpuClock(folder)
    with Server(folder, free_port(), worker=False) as server:
        cells = [cell for reader in readers for cell in _searches(reader, server.address, reader is readers[-1])]
        lists = [cell for reader in readers for cell in _lists(reader, server.address)]
        for number, question in enumerate(questions):
            for cell in (cells if number % 2 else cells[::-1]) + (lists if number % _LIST_EVERY == 0 else []):
                cell.ask(question, cpu_clock)
    for cell in cells:
        del cell.times[:_WARM_UP], cell.cpu_times[:_WARM_UP]
    rows: list[dict[str, Any]] = []
    for cell in sorted(cells + lists, key=lambda cell: cell.path):
        cuts = statistics.quantiles(cell.times, n=100, method="inclusive")
        cpu = statistics.median(cell.cpu_times)
        rows.append({"path": cell.path, "label": cell.label, "kind": _kind(cell.label), "sources": cell.sources,
                     "p50": cuts[49], "p95": cuts[94], "cpu": cpu})  # fmt: skip
        print(
            f"{cell.path:28} {cell.label:45} p50 {cuts[49]:6.1f} ms  p95 {cuts[94]:6.1f} ms  CPU {cpu:6.1f} ms",
            flush=True,
        )
    ratios = _print_ratios(cells + lists)
    return [{**row, **ratios.get((row["path"], row["label"]), {})} for row in rows]


def _searches(reader: Any, address: str, with_named: bool) -> Iterator[_Cell]:
    from benchmarks.support.api_client import ApiClient

    client = ApiClient(address).signed_in(reader.user.email, reader.user.email)
    for path in ("/api/rag/search", "/api/rag/retrieve", "/api/rag/query"):
        options = {} if path == "/api/rag/query" else {"topK": 10}
        yield _Cell(reader.label, reader.sources, path, partial(_ask, client, path, options))
    for count in (50, 200) if with_named and reader.sources >= 500 else ():
        options = {"topK": 10, "dataSources": reader.slugs[:count]}
        path = "/api/rag/retrieve"
        yield _Cell(f"{reader.label}, {count} named", count, path, partial(_ask, client, path, options))


def _lists(reader: Any, address: str) -> Iterator[_Cell]:
    """A page of the list of sources, and one of the documents of a source."""
    from benchmarks.support.api_client import ApiClient

    client = ApiClient(address).signed_in(reader.user.email, reader.user.email)
    for path in ("/api/rag/sources", f"/api/rag/sources/{reader.slugs[0]}/documents"):
        yield _Cell(reader.label, reader.sources, path.replace(reader.slugs[0], "…"), partial(_list, client, path))


def _ask(client: Any, path: str, options: dict[str, Any], question: str) -> None:
    client.read("POST", path, json.dumps({"query": question, **options}))


def _list(client: Any, path: str, _: str) -> None:
    client.read("GET", path)


def _print_ratios(cells: list[_Cell]) -> dict[tuple[str, str], dict[str, float]]:
    """Print and return the ratio of each reader to that of the same chunks in the fewest sources, for each question."""
    by_cell = {}
    for cell in cells:
        first = next(other for other in cells if _kind(other.label) == _kind(cell.label) and other.path == cell.path)
        if _kind(cell.label) and first is not cell:
            time_ratio, cpu_ratio = (
                statistics.median(one / few for one, few in zip(*pair, strict=True))
                for pair in ((cell.times, first.times), (cell.cpu_times, first.cpu_times))
            )
            ratios = f"{time_ratio:5.2f} times {first.label}, CPU {cpu_ratio:5.2f}"
            print(f"{cell.path:28} {cell.label:45} {ratios}", flush=True)
            by_cell[cell.path, cell.label] = {"time_ratio": time_ratio, "cpu_ratio": cpu_ratio}
    return by_cell


def _kind(label: str) -> str:
    """Public, or private of which the reader may query all; empty for other readers."""
    if "named" in label:
        return ""
    words = label.split()
    return "public" if words[1] == "public" else "private" if words[0] == words[2] else ""


if __name__ == "__main__":
    main()
