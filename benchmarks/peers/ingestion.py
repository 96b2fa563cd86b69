"""Ingestion of real paragraphs by each, and the storing of passages whose vectors are given."""

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from django.db import connection

from benchmarks.ingestion.jobs import job_of
from benchmarks.peers.figures import OURS
from benchmarks.support import corpus

if TYPE_CHECKING:
    from benchmarks.peers.process import PeerProcess
    from benchmarks.peers.product import Passages

_ROUNDS, _PARAGRAPHS = 2, 20


def measure(api: Any, peers: "list[PeerProcess]") -> dict[str, tuple[float, float]]:
    """Return the chunks and characters per second of each. Each round has other documents, and the reverse order."""
    count = int(os.environ.get("BENCH_DOCUMENTS", "80"))
    paragraphs = corpus.documents(limit=_ROUNDS * count + 4)
    warm_up, paragraphs = paragraphs[:4], paragraphs[4:]
    totals = {name: np.zeros(3) for name in (OURS, *(peer.name for peer in peers))}
    for number in range(-1, _ROUNDS):
        documents = corpus.longer(
            paragraphs[number * count : (number + 1) * count] if number >= 0 else warm_up, _PARAGRAPHS
        )
        characters = sum(len(document["text"]) for document in documents)
        for peer in [None, *peers][:: 1 if number % 2 else -1]:
            seconds, chunks = _ingest(api, peer, documents, f"round-{number}")
            if number >= 0:
                totals[peer.name if peer else OURS] += (seconds, chunks, characters)
                print(f"{peer.name if peer else OURS:12} {chunks / seconds:6.1f} chunks/s of {chunks}", flush=True)
    return {name: (chunks / seconds, characters / seconds) for name, (seconds, chunks, characters) in totals.items()}


def _ingest(api: Any, peer: "PeerProcess | None", documents: list[dict[str, str]], slug: str) -> tuple[float, int]:
    if peer is None:
        return job_of(api, api.new_source(slug), documents)
    answer = peer.ask("ingest", documents=documents)
    return answer["milliseconds"] / 1000, answer["chunks"]


def load(passages: "Passages", peers: "list[PeerProcess]", folder: Path) -> dict[str, float]:
    """Let each store the passages, with their index. Return the rows per second."""
    started = time.perf_counter()
    passages.write()
    seconds = {OURS: time.perf_counter() - started}
    files = {name: str(folder / name) for name in ("texts", "vectors", "sources")}
    files["vectors"] += ".npy"
    Path(files["texts"]).write_text(json.dumps(passages.texts))
    Path(files["sources"]).write_text(json.dumps([f"source-{number}" for number in passages.source_of]))
    np.save(files["vectors"], passages.vectors.astype(np.float32))
    for peer in peers:
        seconds[peer.name] = peer.ask("load", **files)["milliseconds"] / 1000
    rates = {name: len(passages.texts) / duration for name, duration in seconds.items()}
    for name, rate in rates.items():
        print(f"{name:12} {rate:6.0f} rows/s with given vectors", flush=True)
    _analyze([peer.name.lower() for peer in peers])
    return rates


def _analyze(names: list[str]) -> None:
    """Refresh the planner's statistics in the peers' databases, as autovacuum would do a minute later."""
    import psycopg

    url = os.environ["DATABASE_URL"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT datname FROM pg_database WHERE datname = ANY(%s)", [names])
        databases = [name for (name,) in cursor.fetchall()]
    for name in databases:
        with psycopg.connect(url, dbname=name, autocommit=True) as session:
            session.execute("VACUUM ANALYZE")
