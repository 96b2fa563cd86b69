"""Recall, percentiles and the tables of the report."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

TOP_K = 10
# Vectors are stored with half and with single precision, so equal passages may change places.
_TOLERANCE = 1e-5
OURS = "ragsite"


@dataclass
class Cell:
    """The searches of one store within one scope.

    Attributes:
        times: Milliseconds of each search, with the embedding of its question.
        embeddings: Milliseconds of these embeddings alone; empty if they cannot be measured apart.
        rows, recalls: Of each search.
    """

    store: str
    scope: str
    times: list[float] = field(default_factory=list)
    embeddings: list[float] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    recalls: list[float] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        p50, p95 = np.percentile(self.times, (50, 95))
        return {
            "store": self.store,
            "scope": self.scope,
            "p50": float(p50),
            "p95": float(p95),
            "embedding": statistics.median(self.embeddings) if self.embeddings else None,
            "rows": statistics.mean(self.rows),
            "recall": statistics.mean(self.recalls) if self.recalls else None,
        }


@dataclass(frozen=True)
class StoreFigures:
    """What is measured once for each store. Memory in MB; `database` is the share of its sessions in PostgreSQL."""

    store: str
    chunks_per_second: float
    characters_per_second: float
    rows_per_second: float
    processes: float
    database: float

    @property
    def memory(self) -> float:
        return self.processes + self.database


def in_scope(source_of: NDArray[np.int64], sources: list[int]) -> NDArray[np.int64]:
    """Return the numbers of the passages in these sources."""
    return np.flatnonzero(np.isin(source_of, sources))


def recall(similarities: NDArray[np.float32], in_scope: NDArray[np.int64], returned: Sequence[int]) -> float:
    """Return the share of the exact best passages of the scope that were returned.

    Raises:
        ValueError: A passage is outside of the scope, or is returned twice.
    """
    if not np.isin(returned, in_scope).all() or len(set(returned)) != len(returned):
        raise ValueError("A passage is outside of the scope, or was returned twice.")
    expected = min(TOP_K, len(in_scope))
    worst = np.partition(similarities[in_scope], -expected)[-expected]
    return float((similarities[list(returned)[:TOP_K]] >= worst - _TOLERANCE).sum() / expected)


def list_lags(stores: Iterable[StoreFigures], cells: Iterable[dict[str, Any]]) -> list[str]:
    """Return a sentence for each figure in which a peer is ahead of the product."""
    rows = {figures.store: {**asdict(figures), "memory": figures.memory} for figures in stores}
    sentences = [
        sentence
        for name, unit, higher_is_better in (
            ("chunks_per_second", "chunks/s of ingestion", True),
            ("characters_per_second", "characters/s of ingestion", True),
            ("rows_per_second", "rows/s with given vectors", True),
            ("memory", "MB of memory", False),
        )
        for sentence in _compare_with_peers(
            {store: row[name] for store, row in rows.items()}, unit, higher_is_better=higher_is_better
        )
    ]
    cells_by_scope: dict[str, dict[str, dict[str, Any]]] = {}
    for cell in cells:
        cells_by_scope.setdefault(cell["scope"], {})[cell["store"]] = cell
    for scope, by_store in cells_by_scope.items():
        for name, higher_is_better in (("p50", False), ("p95", False), ("rows", True), ("recall", True)):
            values = {store: cell[name] for store, cell in by_store.items() if cell[name] is not None}
            sentences += _compare_with_peers(values, f"{name} of {scope}", higher_is_better=higher_is_better)
    return sentences


def _compare_with_peers(values: dict[str, float], unit: str, *, higher_is_better: bool) -> list[str]:
    peers = {store: value for store, value in values.items() if not store.startswith(OURS)}
    return [
        f"{store}: {value:,.4g} {unit}, and {peer} {peer_value:,.4g}"
        for store, value in values.items()
        if store.startswith(OURS)
        for peer, peer_value in peers.items()
        if (peer_value > value if higher_is_better else peer_value < value)
    ]


def tables(stores: Sequence[StoreFigures], cells: Sequence[dict[str, Any]]) -> str:
    """Return both tables in Markdown."""
    lines = [
        "| | chunks/s | characters/s | given vectors, rows/s | MB of processes | of PostgreSQL | together |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {row.store} | {row.chunks_per_second:.1f} | {row.characters_per_second:,.0f} "
        f"| {row.rows_per_second:,.0f} | {row.processes:.0f} | {row.database:.0f} | {row.memory:.0f} |"
        for row in stores
    ]
    lines += [
        "",
        "| scope | | p50 / p95 ms | embedding ms | rows of 10 | recall |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {cell['scope']} | {cell['store']} | {cell['p50']:.1f} / {cell['p95']:.1f} "
        f"| {_number(cell['embedding'], 1)} | {cell['rows']:.2f} | {_number(cell['recall'], 3)} |"
        for cell in cells
    ]
    return "\n".join(lines)


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
