"""The gauges of /metrics about what fails: models that do not answer, late scheduled tasks, logged errors."""

from collections.abc import Iterator

from django.utils import timezone

from rag.models import ModelOutage, RecordedError
from rag.services.operations import scheduled_task_status
from rag.services.operations.measurements import measurement_summaries

from .gauge import Gauge


def collect_failure_gauges() -> Iterator[Gauge]:
    """Yield the gauges."""
    yield Gauge(
        "ragsite_model_outage",
        "1 if documents wait because the embedding model did not answer. Models that answer are left out.",
        "model",
        dict.fromkeys(ModelOutage.objects.values_list("model__name", flat=True), 1.0),
    )
    tasks = {task.name: float(task.is_late) for task in scheduled_task_status.list_scheduled_tasks()}
    yield Gauge("ragsite_scheduled_task_late", "Whether the scheduled task is late.", "task", tasks)
    errors = RecordedError.objects.filter(at__gte=timezone.now() - measurement_summaries.HOUR).count()
    yield Gauge("ragsite_logged_errors", "Errors that were logged in the last hour.", values={"": float(errors)})
