"""The figures of make bench-peers, without the peers."""

import numpy as np
import pytest

from benchmarks.peers.figures import StoreFigures, in_scope, list_lags, recall

# Of twelve passages, the later ones are better.
SIMILARITIES = np.linspace(0, 1, 12, dtype=np.float32)


def test_a_scope_has_the_passages_of_its_sources() -> None:
    assert in_scope(np.array([3, 0, 1, 3, 2]), [1, 3]).tolist() == [0, 2, 3]


@pytest.mark.parametrize(
    ("passages", "returned", "expected"),
    [
        (range(12), range(2, 12), 1.0),
        (range(12), [0, 1, *range(4, 12)], 0.8),
        (range(12), [11, 10], 0.2),
        ([0, 3], [3, 0], 1.0),  # fewer passages than are asked for
        ([0, 3], [], 0.0),
    ],
)
def test_recall_counts_the_best_passages_of_the_scope(
    passages: list[int], returned: list[int], expected: float
) -> None:
    assert recall(SIMILARITIES, np.array(passages), list(returned)) == expected


@pytest.mark.parametrize("returned", [[3, 5], [3, 3]])
def test_a_passage_outside_of_the_scope_or_twice_is_an_error(returned: list[int]) -> None:
    with pytest.raises(ValueError, match="outside of the scope"):
        recall(SIMILARITIES, np.array([0, 3]), returned)


def test_each_figure_in_which_a_peer_is_ahead_is_reported() -> None:
    stores = [
        StoreFigures("ragsite", 10, 1000, 50, processes=300, database=100),
        StoreFigures("Chroma", 9, 1001, 50, processes=200, database=0),
    ]
    cell = {"scope": "1 %", "p50": 30.0, "p95": 40.0, "rows": 10.0, "recall": None}
    cells = [cell | {"store": "ragsite"}, cell | {"store": "Chroma", "p50": 29.0, "rows": 9.0, "recall": 0.9}]
    assert list_lags(stores, cells) == [
        "ragsite: 1,000 characters/s of ingestion, and Chroma 1,001",
        "ragsite: 400 MB of memory, and Chroma 200",
        "ragsite: 30 p50 of 1 %, and Chroma 29",
    ]
