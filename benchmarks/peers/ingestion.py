"""Ingestion of real paragraphs by each."""

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.ingestion.jobs import job_of
from benchmarks.peers.figures import OURS
from benchmarks.support import corpus

if TYPE_CHECKING:
    from benchmarks.peers.process import PeerProcess

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
