"""Search over HTTP with one client.

python -m ragsite.embedded var/http --throwaway python -m benchmarks.search.one_client

It is compared with embedding the question and the SQL of both searches alone, among BENCH_CHUNKS generated chunks
(100,000) and BENCH_DOCUMENTS documents (320); and with the same without row-level security. The figures are also in
one_client.json in the data folder.
"""

import contextlib
import functools
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.support.cpu_clock import CpuClock
from benchmarks.support.set_up import set_up_django

if TYPE_CHECKING:
    from benchmarks.support.api_client import ApiClient

_CHUNKS = int(os.environ.get("BENCH_CHUNKS", "100000"))
_DOCUMENTS = int(os.environ.get("BENCH_DOCUMENTS", "320"))
# Questions before a measurement.
_WARM_UP = 10
# Chunks of a generated document, which are written together.
_CHUNKS_PER_DOCUMENT = 5_000


def main() -> None:
    set_up_django()
    from benchmarks.ingestion import jobs
    from benchmarks.support import corpus
    from benchmarks.support.api_client import ApiClient
    from benchmarks.support.server import Server, free_port

    folder = Path(os.environ["RAGSITE_DATA"])
    documents = corpus.documents(limit=_DOCUMENTS)
    with Server(folder, free_port()) as server, ApiClient(server.address) as api:
        jobs.job_of(api, api.source, documents)
        _fill(api, [document["text"] for document in documents])
        figures = {
            "chunks": _CHUNKS,
            "paths": measure_paths(api, corpus.questions(limit=200), folder),
            "row_level_security": measure_row_level_security(api, corpus.questions(limit=400), folder),
        }
        (folder / "one_client.json").write_text(json.dumps(figures, indent=1))


def measure_paths(api: "ApiClient", questions: list[str], folder: Path) -> dict[str, dict[str, Any]]:
    """Return the times of each path and of the bare work, in milliseconds.

    `folder`: the data folder, whose PostgreSQL's CPU time is measured.
    """
    from rag.pipeline.embed_question import embed_question
    from rag.pipeline.retrieval.find_candidates import MAX_CANDIDATES
    from rag.providers import provider_factory
    from rag.providers.stores.search_types import ScopeQuery
    from rag.types import Mode, SearchScope

    model = api.source.embedding_model
    scope = SearchScope(tuple(api.organization.sources.values_list("pk", flat=True)), model.pk)
    store = provider_factory.chunk_store()
    embed = functools.partial(embed_question, model=model)
    cpu_clock = CpuClock(folder)
    figures = {}
    for path, body in (
        ("/api/rag/search", lambda question: {"query": question, "topK": 5}),
        ("/api/rag/retrieve", lambda question: {"query": question, "topK": 10, "rerank": False}),
        ("/api/rag/retrieve reranked", lambda question: {"query": question, "topK": 10}),
        ("/api/rag/query", lambda question: {"query": question}),
        ("/api/rag/answer", lambda question: {"query_text": question}),
        ("/api/chat", lambda question: {"messages": [{"role": "user", "content": question}], "useRag": True}),
        ("/agent/respond", lambda question: {"query": question}),
        ("/api/v1/search", lambda question: {"query": question}),
    ):
        http, embedding, dense, lexical = (Timings(cpu_clock) for _ in range(4))
        for question in questions[:_WARM_UP]:  # both processes
            api.post(path.split()[0], body(question))
            embed(question)
        for question in questions:
            http.time(api.post, path.split()[0], body(question))
            vector = embedding.time(embed, question)
            for mode, timings, query in (
                (Mode.DENSE, dense, ScopeQuery(scope, vector)),
                (Mode.LEXICAL, lexical, ScopeQuery(scope, None)),
            ):
                timings.time(functools.partial(store.search, mode=mode, limit=MAX_CANDIDATES), question, [query])
        figures[path] = _figures(path, http, embedding, dense, lexical)
    return figures


class Timings:
    """Durations and CPU times of calls, in milliseconds."""

    def __init__(self, cpu_clock: CpuClock) -> None:
        self._cpu_clock = cpu_clock
        self.durations: list[float] = []
        # Of this process, and of the others.
        self.cpu_here: list[float] = []
        self.cpu_elsewhere: list[float] = []

    def time(self, work: Callable[..., Any], *arguments: Any) -> Any:
        elsewhere, here = self._cpu_clock.milliseconds(), time.process_time()
        duration, result = _timed(work, *arguments)
        self.cpu_here.append(1000 * (time.process_time() - here))
        self.cpu_elsewhere.append(self._cpu_clock.milliseconds() - elsewhere)
        self.durations.append(duration)
        return result


def _figures(path: str, http: Timings, embedding: Timings, *searches: Timings) -> dict[str, Any]:
    """Return and print the medians of a path, and of the bare work: embedding the question and both searches."""
    bare = [embedding, *searches]
    p50, p95 = _percentiles(http.durations)
    medians = [statistics.median(timings.durations) for timings in bare]
    # The client of the requests runs in this process, so it does not count. What other processes do while this one
    # embeds is what the server does after its response.
    product_cpu = statistics.mean(http.cpu_elsewhere) + statistics.mean(embedding.cpu_elsewhere)
    bare_cpu = sum(statistics.mean(timings.cpu_here) for timings in bare)
    bare_cpu += sum(statistics.mean(timings.cpu_elsewhere) for timings in searches)
    print(
        f"{path:26} HTTP p50 {p50:5.1f} ms p95 {p95:5.1f} ms   embedding {medians[0]:.1f} + dense {medians[1]:.1f} + "
        f"lexical {medians[2]:.1f} ms   ratio {p50 / sum(medians[:2]):.2f}, to both searches {p50 / sum(medians):.2f}, "
        f"of CPU times {product_cpu / bare_cpu:.2f} ({product_cpu:.1f} to {bare_cpu:.1f} ms)",
        flush=True,
    )
    return {"p50": p50, "p95": p95, "bare": medians, "cpu": product_cpu, "bare_cpu": bare_cpu}


# Questions in a row to one server.
_IN_A_ROW = 10


def measure_row_level_security(api: "ApiClient", questions: list[str], folder: Path) -> dict[str, float]:
    """Return the median times with and without row-level security: two servers answer in alternation."""
    from benchmarks.support.server import Server, free_port

    times: dict[str, list[float]] = {"": [], "benchmarks.support.settings_without_rls": []}
    with contextlib.ExitStack() as stack:
        clients = {}
        for settings in times:
            data_folder = folder / (settings or "protected")
            data_folder.mkdir(exist_ok=True)
            server = stack.enter_context(Server(data_folder, free_port(), worker=False, settings=settings))
            clients[settings] = api.at(server.address)
        for number in range(2 * _WARM_UP):
            for client in clients.values():
                client.post("/api/rag/retrieve", {"query": f"{number} {questions[number]}", "topK": 10})
        for start in range(0, len(questions), _IN_A_ROW):
            for settings in [*times][:: -1 if start % (2 * _IN_A_ROW) else 1]:
                for question in questions[start : start + _IN_A_ROW]:
                    body = {"query": question, "topK": 10}
                    times[settings].append(_timed(clients[settings].post, "/api/rag/retrieve", body)[0])
    (protected, _), (without, _) = (_percentiles(milliseconds) for milliseconds in times.values())
    ratio = protected / without
    print(f"row-level security: p50 {without:.1f} ms without, {protected:.1f} with it, ratio {ratio:.3f}", flush=True)
    return {"with": protected, "without": without}


def _timed(work: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work(*arguments)
    return 1000 * (time.perf_counter() - started), result


def _percentiles(times: list[float]) -> tuple[float, float]:
    cuts = statistics.quantiles(times, n=100)
    return cuts[49], cuts[94]


def _fill(api: "ApiClient", texts: list[str]) -> None:
    """Write generated chunks, and build the index of vectors."""
    from django.db import transaction

    from benchmarks.search.synthetic_organizations import build_index
    from benchmarks.speed import generated_chunks
    from rag.providers import provider_factory

    random = np.random.default_rng(1)
    store = provider_factory.chunk_store()
    store.drop_vector_index(384)  # building it again takes less time than inserting
    started = time.perf_counter()
    for start in range(0, _CHUNKS, _CHUNKS_PER_DOCUMENT):
        with transaction.atomic():  # so that a worker does not see chunks without terms
            count = min(_CHUNKS_PER_DOCUMENT, _CHUNKS - start)
            version = generated_chunks.create_version(api.source, count, texts, random)
            store.write([version], model=api.source.embedding_model)
    print(f"store      {_CHUNKS / (time.perf_counter() - started):.0f} rows/s with no HNSW index", flush=True)
    build_index()


if __name__ == "__main__":
    main()
