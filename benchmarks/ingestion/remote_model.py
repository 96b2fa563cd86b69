"""Compares jobs that an endpoint 50 ms away embeds with writing the same number of rows by the store alone.

The store writes from as many processes into the same table. Both are measured twice: as a first load, whose index is
built afterwards, and into an existing index. Before and after, a job of the local model writes into the same index:
when it has few chunks, and when it has all of them.
"""

import time
import uuid
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.ingestion.jobs import job_of
from benchmarks.report import results
from benchmarks.support import embedding_endpoint
from benchmarks.support.set_up import set_up_django

if TYPE_CHECKING:
    from benchmarks.support.api_client import ApiClient

DIMENSIONS = 384
_WRITERS = 2
_MIN_FIRST_LOAD_RATE = 1_500
# Of the rate with which the store alone writes into an existing index.
_MIN_LIVE_RATIO = 0.8
# Of the rate with which the local model writes into an index of few chunks.
_MIN_FULL_INDEX_RATIO = 0.8


def measure(
    api: "ApiClient", short_documents: list[dict[str, str]], report: results.Results, *, first_load: int, live: int
) -> None:
    """Report the rates. `first_load` and `live` are numbers of chunks, which are made of the short documents."""
    from rag.models import EmbeddingModel
    from rag.providers import provider_factory

    with embedding_endpoint.running(DIMENSIONS) as base_url, _writers() as pool:
        model, _ = EmbeddingModel.objects.update_or_create(
            name="bench-remote", defaults={"provider": "openai", "dimensions": DIMENSIONS, "base_url": base_url}
        )
        texts = [document["text"] for document in short_documents]
        store = provider_factory.chunk_store()
        store.build_vector_index(DIMENSIONS)
        empty_rate = _local_rate(api, short_documents)
        store.drop_vector_index(DIMENSIONS)
        first_goal = results.at_least(_MIN_FIRST_LOAD_RATE)
        _compare(api, pool, model, texts, first_load, "first load", report, first_goal)
        started = time.perf_counter()
        store.build_vector_index(DIMENSIONS)
        rows = next(index.row_count for index in store.vector_indexes() if index.dimensions == DIMENSIONS)
        build_rate = rows / (time.perf_counter() - started)
        print(f"index build            {build_rate:6.0f} rows/s over {rows:,} rows")
        report.add("remote embedding", f"building the vector index of {rows:,} chunks", build_rate, "rows/s")
        live_goal = results.ratio_at_least(_MIN_LIVE_RATIO)
        _compare(api, pool, model, texts, live, "live index", report, live_goal)
        full_rate = _local_rate(api, short_documents)
        print(
            f"local model            into a full index {full_rate:6.1f} chunks/s   into an empty one {empty_rate:6.1f}"
        )
        report.add(
            "remote embedding", f"job of the local model into an index of {rows:,} and more chunks", full_rate,
            "chunks/s", limit=empty_rate, limit_name="into an index of few chunks",
            goal=results.ratio_at_least(_MIN_FULL_INDEX_RATIO),
        )  # fmt: skip
        api.delete_model(model)


def _local_rate(api: "ApiClient", documents: list[dict[str, str]]) -> float:
    """Chunks per second of a job of the default model, after a small one with which the workers load the model."""
    warm, source = (api.new_source(f"local-{uuid.uuid4().hex[:8]}") for _ in range(2))
    job_of(api, warm, documents[:8])
    seconds, chunks = job_of(api, source, documents)
    return chunks / seconds


def _compare(
    api: "ApiClient", pool: ProcessPoolExecutor, model: Any, texts: list[str], chunks: int, label: str,
    report: results.Results, goal: results.Goal,
) -> None:  # fmt: skip
    documents = _documents(texts, chunks)
    source = api.new_source(f"remote-{uuid.uuid4().hex[:8]}", model=model)
    seconds, chunk_count = job_of(api, source, documents)
    store_rate = _store_rate(pool, api.new_source(f"bare-{uuid.uuid4().hex[:8]}", model=model), chunk_count)
    rate = chunk_count / seconds
    print(
        f"remote, {label:12}   job {rate:6.0f} chunks/s   insert path alone {store_rate:6.0f} rows/s   "
        f"ratio {rate / store_rate:.2f}",
        flush=True,
    )
    report.add(
        "remote embedding", f"job, {label}, {chunk_count:,} chunks", rate, "chunks/s", limit=store_rate,
        limit_name="writing alone", goal=goal,
    )  # fmt: skip


def _documents(texts: list[str], chunks: int) -> list[dict[str, str]]:
    """Different documents of about 16 chunks, one for each paragraph."""
    documents = []
    for number in range(chunks // 16):
        parts = [f"# Part {number}.{part}\n\n{texts[(number * 16 + part) % len(texts)]}" for part in range(16)]
        documents.append({"path": f"d{number}", "title": f"Document {number}", "text": "\n\n".join(parts),
                          "contentType": "text/markdown"})  # fmt: skip
    return documents


def _store_rate(pool: ProcessPoolExecutor, source: Any, chunks: int) -> float:
    """Rows per second of the store alone, in transactions of 16 chunks like the job's."""
    list(pool.map(_warm, range(_WRITERS * 2)))
    share = chunks // 16 // _WRITERS
    started = time.perf_counter()
    list(pool.map(_write, [(source.pk, share)] * _WRITERS))
    return 16 * share * _WRITERS / (time.perf_counter() - started)


def _writers() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(_WRITERS, mp_context=get_context("spawn"), initializer=set_up_django)


def _warm(_: int) -> None:
    from rag.models import Chunk

    Chunk.objects.exists()


def _write(task: tuple[uuid.UUID, int]) -> None:
    from django.db import connection, transaction

    from rag.models import DataSource, Document
    from rag.providers import provider_factory
    from rag.providers.stores.store_writes import DocumentVersion
    from rag.types import ChunkDraft

    source_id, documents = task
    model = DataSource.objects.get(pk=source_id).embedding_model
    random = np.random.default_rng()
    text = "The same words as in a paragraph of a real text, more or less. " * 12
    store = provider_factory.chunk_store()
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
    for _ in range(documents):
        vectors = random.standard_normal((16, DIMENSIONS)).astype(np.float16)
        with transaction.atomic():
            document = Document.objects.create(
                source_id=source_id, path=str(uuid.uuid4()), title="bare", text=text, content_hash="", chunk_size=1,
                chunk_overlap=0, chunk_count=16, revision=uuid.uuid4(), source_type="doc",
            )  # fmt: skip
            version = DocumentVersion(
                document=document,
                chunks=[ChunkDraft(number, 0, len(text), text, (), 150) for number in range(16)],
                digests=[uuid.uuid4() for _ in range(16)],
                new_indexes=range(16),
                vectors=vectors,
            )
            store.write([version], model=model)
