"""The chart of a data source's quality over time, drawn as SVG by the template."""

from rag.models import QualityRun

_WIDTH, _HEIGHT, _LEFT, _TOP = 640, 200, 36, 10


def build_chart(runs: list[QualityRun]) -> dict[str, object] | None:
    """Return the coordinates of the chart; None for fewer than two runs.

    Args:
        runs: The runs, oldest first.
    """
    if len(runs) < 2:
        return None
    step = (_WIDTH - _LEFT - 10) / (len(runs) - 1)
    plot_height = _HEIGHT - 2 * _TOP - 16

    def build_points(metric: str) -> list[dict[str, object]]:
        values = [getattr(run, metric) for run in runs]
        return [
            {
                "x": f"{_LEFT + step * index:.1f}",
                "y": f"{_TOP + plot_height * (1 - value):.1f}",
                "value": f"{value:.3f}",
            }
            for index, value in enumerate(values)
        ]

    series = [
        ("nDCG@10", "#2b7bba", build_points("ndcg_at_10")),
        ("Recall@10", "#c76b00", build_points("recall_at_10")),
    ]
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "left": _LEFT,
        "right": _WIDTH - 10,
        "bottom": _HEIGHT - 6,
        "grid": [(f"{_TOP + plot_height * (1 - tick / 4):.1f}", f"{tick / 4:.2f}") for tick in range(5)],
        "series": [
            {
                "name": name,
                "colour": colour,
                "points": points,
                "line": " ".join(f"{point['x']},{point['y']}" for point in points),
            }
            for name, colour, points in series
        ],
        "first": runs[0].at,
        "last": runs[-1].at,
    }
