"""Measures the v3 contract's performance targets (section 6) over HTTP, and reports whether they are met."""

import time
from collections.abc import Callable

from benchmarks.report import results
from benchmarks.support.api_client import ApiClient

MAX_INGESTION_SECONDS, MAX_SEARCH_SECONDS, MAX_EMBEDDING_SECONDS = 5.0, 0.5, 0.2


def measure(api: ApiClient, report: results.Results) -> None:
    """Report the best of a few attempts at each target."""
    from rag.providers import provider_factory

    sentences = [f"Zebra number {number} has stripes of its own, which nobody else has. " for number in range(200)]
    document = {"source": "main", "path": "/zebras", "title": "Zebras", "text": "".join(sentences)[:10_000]}
    question = {"query": "Which zebra has stripes?"}
    embedder = provider_factory.embedder(api.source.embedding_model)
    targets: tuple[tuple[str, float, int, Callable[[], object]], ...] = (
        (
            "ingest 10 KB in one request",
            MAX_INGESTION_SECONDS,
            1,
            lambda: api.post("/api/rag/ingest", document),
        ),
        ("search", MAX_SEARCH_SECONDS, 5, lambda: api.post("/api/rag/search", question)),
        ("embed 10 texts", MAX_EMBEDDING_SECONDS, 5, lambda: embedder.embed(sentences[:10])),
    )
    for name, target_seconds, attempts, work in targets:
        seconds = min(_seconds(work) for _ in range(attempts))
        verdict = "met" if seconds < target_seconds else "MISSED"
        print(f"target     {name}: {seconds:.3f} s, at most {target_seconds} s: {verdict}", flush=True)
        report.add("targets", name, seconds, "s", goal=results.at_most(target_seconds))


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
