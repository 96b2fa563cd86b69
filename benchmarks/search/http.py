"""Compares search over HTTP, with one client, with embedding the question and the SQL of both searches alone."""

import contextlib
import functools
import statistics
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import results
from benchmarks.support.cpu_clock import CpuClock
from benchmarks.support.environment import Setting
from benchmarks.support.server import Server

# Words and token signatures of a generated chunk.
_WORDS, _TOKENS = 120, 70
# Questions before a measurement.
_WARM_UP = 10
# More chunks than this are not inserted into an existing index.
_MAX_LIVE_INSERTS = 20_000
# The largest ratios to the bare work: of times, by path, of CPU times, and of a search with row-level security.
_MAX_RATIOS = {"/api/rag/search": 1.25, "/api/rag/retrieve reranked": 1.5, "/api/rag/query": 2.0}
_MAX_CPU_RATIO, _MAX_RLS_RATIO = 1.6, 1.05


def measure(
    setting: Setting, questions: list[str], report: results.Results, *, fill: int, texts: list[str], folder: Path
) -> None:
    """Report the times of each path. `fill` chunks are generated in the same scope, with the words of `texts`.

    `folder`: the data folder, whose PostgreSQL's CPU time is measured.
    """
    from rag.pipeline.embed_question import embed_question
    from rag.pipeline.retrieval.find_candidates import MAX_CANDIDATES
    from rag.providers import provider_factory
    from rag.providers.stores.search_types import ScopeQuery
    from rag.types import Mode, SearchScope

    _fill(setting, fill, texts, report)
    model = setting.source.embedding_model
    scope = SearchScope(tuple(setting.organization.sources.values_list("pk", flat=True)), model.pk)
    store = provider_factory.chunk_store()
    embed = functools.partial(embed_question, model=model)
    cpu_clock = CpuClock(folder)
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
            setting.post(path.split()[0], body(question))
            embed(question)
        for question in questions:
            http.time(setting.post, path.split()[0], body(question))
            vector = embedding.time(embed, question)
            for mode, timings, query in (
                (Mode.DENSE, dense, ScopeQuery(scope, vector)),
                (Mode.LEXICAL, lexical, ScopeQuery(scope, None)),
            ):
                timings.time(functools.partial(store.search, mode=mode, limit=MAX_CANDIDATES), question, [query])
        _report_ratios(report, path, http, embedding, dense, lexical)


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


def _report_ratios(report: results.Results, path: str, http: Timings, embedding: Timings, *searches: Timings) -> None:
    """Report the medians of a path, and its ratios to the bare work: embedding the question and both searches."""
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
    address, _, how = path.partition(" ")
    if path == "/api/rag/retrieve":
        how = "without reranking"
    name = f"`POST {address}`{', ' if how else ''}{how}"
    report.add(
        "search over HTTP", f"{name}, p50", p50, "ms", limit=sum(medians), limit_name="embedding and SQL alone",
        goal=results.ratio_at_most(_MAX_RATIOS[path]) if path in _MAX_RATIOS else None,
    )  # fmt: skip
    report.add("search over HTTP", f"{name}, p95", p95, "ms")
    report.add(
        "search over HTTP", f"{name}, CPU time", product_cpu, "ms", limit=bare_cpu,
        limit_name="embedding and SQL alone", goal=results.ratio_at_most(_MAX_CPU_RATIO),
    )  # fmt: skip


# Questions in a row to one server.
_IN_A_ROW = 10


def measure_row_level_security(
    setting: Setting, questions: list[str], report: results.Results, folder: Path, ports: Sequence[int]
) -> None:
    """Report the cost of row-level security: two servers answer in alternation, one of them without it."""
    times: dict[str, list[float]] = {"": [], "benchmarks.support.settings_without_rls": []}
    with contextlib.ExitStack() as stack:
        clients = {}
        for settings, port in zip(times, ports, strict=True):
            data_folder = folder / (settings or "protected")
            data_folder.mkdir(exist_ok=True)
            server = stack.enter_context(Server(data_folder, port, worker=False, settings=settings))
            clients[settings] = setting.at(server.address)
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
    report.add(
        "search over HTTP", "`POST /api/rag/retrieve` with row-level security, p50", protected, "ms", limit=without,
        limit_name="without it", goal=results.ratio_at_most(_MAX_RLS_RATIO),
    )  # fmt: skip


def _timed(work: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work(*arguments)
    return 1000 * (time.perf_counter() - started), result


def _percentiles(times: list[float]) -> tuple[float, float]:
    cuts = statistics.quantiles(times, n=100)
    return cuts[49], cuts[94]


def _fill(setting: Setting, count: int, texts: list[str], report: results.Results) -> None:
    """Write chunks of random words of the texts, with random vectors and token signatures."""
    from django.db import transaction

    from rag.models import Document
    from rag.providers import provider_factory
    from rag.providers.stores.store_writes import DocumentVersion
    from rag.types import ChunkDraft

    random = np.random.default_rng(1)
    vectors = random.standard_normal((count, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    words = np.array(" ".join(texts).split())
    sentences = [" ".join(random.choice(words, _WORDS)) for _ in range(count)]
    document = Document.objects.create(
        source=setting.source, path="fill", title="fill", text="", content_hash="", chunk_size=1, chunk_overlap=0,
        chunk_count=count, revision=uuid.uuid4(), source_type="doc",
    )  # fmt: skip
    version = DocumentVersion(
        document=document,
        chunks=[ChunkDraft(number, number, number + 1, text, (), 1) for number, text in enumerate(sentences)],
        digests=[uuid.uuid4() for _ in sentences],
        new_indexes=range(count),
        vectors=vectors.astype(np.float16),
        signatures=list(random.integers(0, 256, (count, _TOKENS, 48), np.uint8)),
    )
    is_large = count > _MAX_LIVE_INSERTS
    store = provider_factory.chunk_store()
    if is_large:
        store.drop_vector_index(384)
    index = "no" if is_large else "a live"
    with transaction.atomic():  # so that a worker does not see chunks without terms
        started = time.perf_counter()
        store.write([version], model=setting.source.embedding_model)
        rate = count / (time.perf_counter() - started)
        print(f"store      {rate:.0f} rows/s with {index} HNSW index", flush=True)
        report.add("search over HTTP", f"writing {count:,} chunks with {index} HNSW index", rate, "rows/s")
    if is_large:
        store.build_vector_index(384)
        while not any(index.is_built for index in store.vector_indexes() if index.dimensions == 384):
            time.sleep(1)  # the product's scheduler is already building it
