"""What make guard says of ratios that are too large. The measurement itself belongs to `.ci/run`."""

from benchmarks.speed import guard


def test_a_ratio_above_its_limit_is_described() -> None:
    assert guard.describe_excess(guard.MAX_RATIOS) == []
    limit = guard.MAX_RATIOS["/api/rag/search"]
    assert guard.describe_excess({**guard.MAX_RATIOS, "/api/rag/search": limit + 0.1}) == [
        f"/api/rag/search takes {limit + 0.1:.2f} times the CPU time of its bare parts, and may take {limit}."
    ]
