"""All gauges of /metrics. They are read from the database on request, so every process returns the same values."""

from collections.abc import Iterator

from rag.services.operations import readiness_checks

from .failure_gauges import collect_failure_gauges
from .gauge import Gauge
from .job_gauges import collect_job_gauges
from .organization_gauges import collect_organization_gauges
from .quality_gauges import collect_quality_gauges
from .size_gauges import collect_size_gauges
from .worker_and_queue_gauges import collect_worker_and_queue_gauges


def collect_gauges() -> Iterator[Gauge]:
    """Yield all gauges; only `ragsite_up` if the database does not answer."""
    up = readiness_checks.check_components()
    yield Gauge(
        "ragsite_up",
        "Whether the component answers: 1 or 0.",
        "component",
        {name: float(is_up) for name, is_up in up.items()},
    )
    if not up["database"]:
        return
    yield from collect_job_gauges()
    yield from collect_organization_gauges()
    yield from collect_quality_gauges()
    yield from collect_worker_and_queue_gauges()
    yield from collect_failure_gauges()
    yield from collect_size_gauges()
