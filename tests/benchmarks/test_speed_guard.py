"""What make guard says of ratios that are too large. The measurement itself belongs to `.ci/run`."""

from benchmarks.speed import speed_guard


def test_a_ratio_above_its_limit_is_described() -> None:
    assert speed_guard.describe_excess(speed_guard.MAX_RATIOS) == []
    limit = speed_guard.MAX_RATIOS["/api/rag/search"]
    assert speed_guard.describe_excess({**speed_guard.MAX_RATIOS, "/api/rag/search": limit + 0.1}) == [
        f"/api/rag/search takes {limit + 0.1:.2f} times the CPU time of its bare parts, and may take {limit}."
    ]
