"""Compares a job through HTTP, broker, worker and database with the embedder alone on the same chunks."""

import datetime
import os
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django

from benchmarks.report import results
from ragsite.postgres import identity

if TYPE_CHECKING:
    from benchmarks.support.api_client import ApiClient

ROUNDS = 3
_MIN_RATIOS = {"short": 0.90, "long": 0.95}
# How many times as fast as the first time unchanged documents should be.
_MIN_UNCHANGED_RATIO = 100
_embedder: Any = None


def measure(api: "ApiClient", documents: list[dict[str, str]], kind: str, report: results.Results) -> None:
    """Report the rates of some rounds. `kind` is short (one chunk for each document) or long (many)."""
    texts = embedded_texts(documents)
    cores = os.cpu_count() or 2
    # Spawned, as forked children would share this process's database connection.
    with ProcessPoolExecutor(cores, mp_context=get_context("spawn"), initializer=_load) as pool:
        list(pool.map(_embed, [["warm"]] * cores * 4))
        _job(api, documents[:8], f"{kind}-warm")  # the workers load the model at their first document
        ratios, rates, embedder_rates, first_seconds, unchanged_seconds = [], [], [], [], []
        for number in range(ROUNDS):
            embedder_rate = _embedder_rate(pool, texts)
            source = api.new_source(f"{kind}-{number}")
            seconds, chunks = job_of(api, source, documents)
            first_seconds.append(seconds)
            unchanged_seconds.append(job_of(api, source, documents)[0])
            embedder_rates.append(embedder_rate)
            rates.append(chunks / seconds)
            ratios.append(chunks / seconds / embedder_rate)
            print(
                f"{kind:5} documents  job {len(documents) / seconds:6.1f} documents/s {chunks / seconds:6.1f} chunks/s"
                f"   embedder alone {embedder_rate:6.1f} chunks/s   ratio {ratios[-1]:.2f}"
                f"   unchanged {seconds / unchanged_seconds[-1]:.0f} times as fast",
                flush=True,
            )
    median, aim = statistics.median(ratios), _MIN_RATIOS[kind]
    print(f"{kind:5} documents  median ratio {median:.2f} (aim ≥ {aim:.2f})\n", flush=True)
    name = f"job of {kind} documents"
    report.add(
        "ingestion", name, statistics.median(rates), "chunks/s", limit=statistics.median(embedder_rates),
        limit_name="embedder alone", ratio=median, goal=results.ratio_at_least(aim),
    )  # fmt: skip
    first, unchanged = statistics.median(first_seconds), statistics.median(unchanged_seconds)
    count = len(documents)
    report.add(
        "ingestion", f"{name}, unchanged", count / unchanged, "documents/s", limit=count / first,
        limit_name="the first time", goal=results.ratio_at_least(_MIN_UNCHANGED_RATIO),
    )  # fmt: skip


def embedded_texts(documents: list[dict[str, str]]) -> list[str]:
    """The texts that the pipeline embeds."""
    from django.conf import settings

    from rag.pipeline.ingestion.chunk import chunk
    from rag.text.indexed_text import embedded_text
    from rag.types import ChunkingOptions, ParsedDocument

    options = ChunkingOptions(settings.RAG_JOB_CHUNK_TOKENS, settings.RAG_JOB_CHUNK_OVERLAP_TOKENS)
    return [
        embedded_text(draft.text, draft.headings, document["title"])
        for document in documents
        for draft in chunk(ParsedDocument(document["text"]), options)
    ]


def _embedder_rate(pool: ProcessPoolExecutor, texts: list[str]) -> float:
    """Chunks per second of the embedder alone, with one process for each core."""
    started = time.perf_counter()
    list(pool.map(_embed, [texts[start : start + 8] for start in range(0, len(texts), 8)]))
    return len(texts) / (time.perf_counter() - started)


def _load() -> None:
    global _embedder
    identity.run_process_as(identity.WORKER)
    django.setup()
    from rag.providers.embedders.local import LocalEmbedder

    _embedder = LocalEmbedder(cache=Path(os.environ["RAGSITE_DATA"]) / "models", threads=1)


def _embed(texts: list[str]) -> int:
    return len(_embedder.embed(texts))


def _job(api: "ApiClient", documents: list[dict[str, str]], slug: str) -> tuple[float, int]:
    """Seconds from the job's creation to its end, and its number of chunks."""
    return job_of(api, api.new_source(slug), documents)


def job_of(api: "ApiClient", source: Any, documents: list[dict[str, str]]) -> tuple[float, int]:
    """Seconds from the job's creation to its end, and its number of chunks."""
    job = api.post("/api/rag/ingest", {"dataSourceId": source.slug, "documents": documents})
    while not job["finishedAt"]:
        time.sleep(0.5)
        job = api.get(f"/api/rag/ingest/{job['jobId']}")
    if job["indexed"] != len(documents):
        raise RuntimeError(f"not everything was indexed: {job['errors'][:3]}")
    created_at, finished_at = (datetime.datetime.fromisoformat(job[name]) for name in ("createdAt", "finishedAt"))
    return (finished_at - created_at).total_seconds(), job["chunks"]
