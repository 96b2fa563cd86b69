"""Measures one number of chunks (BENCH_CHUNKS), in a database of its own. A second run only measures."""

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.ingestion.sizing import SIZES
from benchmarks.support.set_up import migrate, set_up_django
from ragsite.postgres import identity

_QUESTIONS, _WARM_UP = 100, 20


def main() -> None:
    set_up_django()
    from benchmarks.search.growth import readers, recall, write_chunks
    from benchmarks.search.growth.synthetic import SyntheticChunks
    from rag.models import Document

    migrate()
    count, folder = int(os.environ["BENCH_CHUNKS"]), Path(os.environ["RAGSITE_DATA"])
    print(f"\n{count:,} chunks", flush=True)
    chunks = SyntheticChunks(count, folder.parent)
    assert len(chunks.question_vectors) == len(chunks.questions)
    parts, sources = readers.create()
    result = json.loads((folder / "growth.json").read_text()) if (folder / "growth.json").exists() else {}
    if not Document.objects.exists():
        result["seconds"] = write_chunks.load(chunks, sources)
    result["bytes"] = _sizes(count)
    reader = next(part for part in parts if part.percent == 100)
    if os.environ.get("BENCH_TIMES", "1") == "1":
        result["http"] = _measure_http(chunks, reader, folder)
        result["process"] = _measure_process(chunks, reader)
    if os.environ.get("BENCH_RECALL", "1") == "1":
        result["cells"] = recall.as_json(recall.measure(chunks, parts))
    (folder / "growth.json").write_text(json.dumps(result, indent=1))


def _sizes(count: int) -> dict[str, float]:
    """Print the bytes of each table and index per chunk."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(SIZES)
        sizes = {f"{table} {index}".strip(): size for table, index, size in cursor.fetchall()}
    for name, size in sizes.items():
        if size / count >= 1:
            print(f"{size / count:>9,.0f} bytes per chunk  {name}")
    print(f"{sum(sizes.values()) / count:>9,.0f} bytes per chunk in all", flush=True)
    return sizes


def _measure_process(chunks: Any, reader: Any) -> dict[str, tuple[float, float]]:
    """Searches within this process, with the embedding of the question and the passages."""
    from orgs.access.caller import Caller
    from rag.services.queries import permitted_queries
    from rag.services.queries.source_selection import SourceSelection
    from rag.types import Mode, Question

    caller = Caller(reader.user)
    figures = {}
    for mode in Mode:
        times = []
        with identity.run_as(caller.database_identity):
            for text in _questions(chunks):
                started = time.perf_counter()
                question = Question(text, 10, mode=mode)
                passages = permitted_queries.search(question, SourceSelection(caller)).passages
                times.append(1000 * (time.perf_counter() - started))
                assert len(passages) == 10 or mode == Mode.LEXICAL
        figures[f"search in process, {mode}"] = _percentiles(times)
    return _printed(figures)


def _measure_http(chunks: Any, reader: Any, folder: Path) -> dict[str, tuple[float, float]]:
    from benchmarks.support.api_client import ApiClient
    from benchmarks.support.server import Server, free_port

    times: dict[str, list[float]] = {"/api/rag/search": [], "/api/rag/retrieve": [], "/api/rag/query": []}
    with Server(folder, free_port(), worker=False) as server:
        client = ApiClient(server.address).signed_in(reader.user.email, reader.user.email)
        for text in _questions(chunks):
            for path, path_times in times.items():
                body = {"query": text} if path.endswith("query") else {"query": text, "topK": 10}
                started = time.perf_counter()
                client.post(path, body)
                path_times.append(1000 * (time.perf_counter() - started))
        memory = _memory()
    print(f"memory (proportional share): {memory}", flush=True)
    return _printed({f"HTTP {path}": _percentiles(path_times) for path, path_times in times.items()})


def _memory() -> dict[str, int]:
    """Megabytes of PostgreSQL, its shared_buffers included, the web server and Redis, as proportional shares."""
    megabytes: dict[str, float] = {}
    here = os.environ["RAGSITE_DATA"]
    for process in psutil.process_iter(["name"]):
        try:
            line = " ".join([*process.cmdline(), *(parent for p in process.parents() for parent in p.cmdline())])
            if here in line or any(parent.pid == os.getpid() for parent in process.parents()):
                name = process.info["name"]
                megabytes[name] = megabytes.get(name, 0) + process.memory_full_info().pss / 1e6
        except psutil.Error:
            continue
    return {name: round(size) for name, size in megabytes.items()}


def _questions(chunks: Any) -> list[str]:
    """Questions about as many clusters, the first ones to warm up."""
    places = np.random.default_rng(6).choice(len(chunks.questions), _QUESTIONS + _WARM_UP, replace=False)
    return [chunks.questions[place] for place in places]


def _percentiles(times: list[float]) -> tuple[float, float]:
    p50, p95 = np.percentile(times[_WARM_UP:], (50, 95))
    return float(p50), float(p95)


def _printed(figures: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    for name, (p50, p95) in figures.items():
        print(f"{name:40} p50 {p50:6.1f} ms  p95 {p95:6.1f} ms", flush=True)
    return figures


if __name__ == "__main__":
    main()
