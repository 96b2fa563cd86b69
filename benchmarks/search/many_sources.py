"""Search with many data sources: python -m ragsite.embedded var/sources -- python -m benchmarks.search.many_sources

The same chunks are divided among 5, 500 and 5,000 sources. Prints the times of whole searches over HTTP in alternation,
their ratios to those with 5 sources, and the statements of one search of each kind. BENCH_CHUNKS and BENCH_SOURCES
change the numbers; BENCH_PROFILE=1 leaves out HTTP, and BENCH_PRIVATE=0 the organisations with private sources.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import django

from ragsite.postgres import identity

_WARM_UP, _QUESTIONS = 10, 60


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    os.environ.setdefault("RAG_RATE_LIMITS", "off")
    identity.run_process_as(identity.WORKER)
    django.setup()
    from benchmarks.search import synthetic_organizations
    from benchmarks.support import corpus

    subprocess.run([sys.executable, "manage.py", "migrate", "--verbosity=0"], check=True)
    chunks = int(os.environ.get("BENCH_CHUNKS", "20000"))
    counts = [int(count) for count in os.environ.get("BENCH_SOURCES", "5,500,5000").split(",")]
    shelf = synthetic_organizations.Library(chunks)
    readers = [shelf.open_reader(count) for count in counts]
    if os.environ.get("BENCH_PRIVATE", "1") == "1":
        readers += shelf.closed_readers(min(counts))[-1:]  # all of few private sources, with the same chunks
        readers += shelf.closed_readers(max(counts))
    synthetic_organizations.build_index()
    questions = corpus.questions(limit=_QUESTIONS + _WARM_UP)
    print(f"{chunks:,} chunks in each organisation, {os.cpu_count()} cores", flush=True)
    for reader in readers:
        _profile(reader, questions)
    if os.environ.get("BENCH_PROFILE", "0") == "0":
        _measure_http(readers, questions, Path(os.environ["RAGSITE_DATA"]))


def _profile(reader: Any, questions: list[str]) -> None:
    """Print the statements of a search within this process, with their median times."""
    from orgs.access.caller import Caller
    from rag.services.search import permitted_queries
    from rag.types import Question

    caller = Caller(reader.user)
    times: dict[str, list[float]] = {}
    totals = []
    with identity.run_as(caller.database_identity):
        for number, text in enumerate(questions[:25]):
            with _timed_statements() as statements:
                started = time.perf_counter()
                retrieval = permitted_queries.search(Question(text, 10), permitted_queries.SourceSelection(caller))
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


def _measure_http(readers: list[Any], questions: list[str], folder: Path) -> None:
    from benchmarks.__main__ import free_port
    from benchmarks.support.environment import Setting
    from benchmarks.support.server import Server

    with Server(folder, free_port(), worker=False) as server:
        cells: list[tuple[str, Setting, str, dict[str, Any]]] = []
        for reader in readers:
            client = Setting(server.address).signed_in(reader.user.email, reader.user.email)
            cells.append((reader.label, client, "/api/rag/search", {}))
            cells.append((reader.label, client, "/api/rag/retrieve", {}))
            if reader.sources >= 500:
                for count in (50, 200):
                    body = {"dataSources": reader.slugs[:count]}
                    cells.append((f"{reader.label}, {count} named", client, "/api/rag/retrieve", body))
        times: list[list[float]] = [[] for _ in cells]
        for question in questions:
            for (_, client, path, body), cell_times in zip(cells, times, strict=True):
                started = time.perf_counter()
                client.post(path, {"query": question, "topK": 10, **body})
                cell_times.append(1000 * (time.perf_counter() - started))
        for (label, _, path, _), cell_times in zip(cells, times, strict=True):
            cuts = statistics.quantiles(cell_times[_WARM_UP:], n=100)
            print(f"{path:20} {label:45} p50 {cuts[49]:6.1f} ms  p95 {cuts[94]:6.1f} ms", flush=True)
    _print_ratios(
        {(label, path): cell_times[_WARM_UP:] for (label, _, path, _), cell_times in zip(cells, times, strict=True)}
    )


def _print_ratios(times: dict[tuple[str, str], list[float]]) -> None:
    """Print the ratio of each reader to the one with the same chunks in the fewest sources, question by question."""
    for (label, path), durations in times.items():
        first = next(other for other in times if _kind(other[0]) == _kind(label) and other[1] == path)
        if _kind(label) and first != (label, path):
            ratio = statistics.median(one / few for one, few in zip(durations, times[first], strict=True))
            print(f"{path:20} {label:45} {ratio:5.2f} times {first[0]}", flush=True)


def _kind(label: str) -> str:
    """Public, or private of which the reader may query all; empty for other readers."""
    if "named" in label:
        return ""
    words = label.split()
    return "public" if words[1] == "public" else "private" if words[0] == words[2] else ""


if __name__ == "__main__":
    main()
