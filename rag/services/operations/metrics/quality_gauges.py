"""The gauges of /metrics about the quality of searches, measured on golden questions."""

from collections.abc import Iterator

from rag.services.evaluation import quality

from .gauge import Gauge

# How many data sources have labels of their own.
_MAX_SOURCES = 200


def collect_quality_gauges() -> Iterator[Gauge]:
    """Yield the gauges."""
    yield Gauge(
        "ragsite_quality_ndcg10",
        "nDCG@10 of the latest run on the golden questions of a data source.",
        "source",
        quality.latest_ndcg(_MAX_SOURCES),
    )
