"""Writes the passages of the searches into each store: their vectors are given."""

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from django.db import connection

from benchmarks.peers.figures import OURS

if TYPE_CHECKING:
    from benchmarks.peers.process import PeerProcess
    from benchmarks.peers.product import Passages


def write(passages: "Passages", peers: "list[PeerProcess]", folder: Path) -> dict[str, float]:
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
