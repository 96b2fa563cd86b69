"""What the page "Operations" shows: workers, scheduled tasks, measurements, slow operations and errors.

No row has a text of a question or a document. Organisations and documents are ids without a foreign key: a deletion
must not wait for these rows, which expire by themselves.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from ragsite.postgres.models import UUIDModel


class WorkerHeartbeat(models.Model):
    """A running worker. It deletes its row when it stops, so an old row is a worker that died.

    Attributes:
        name: The name of the Celery worker.
        slots: How many tasks it runs at the same time.
        running: Its tasks at `beat_at`: name, and start in seconds since 1970.
    """

    name = models.CharField(max_length=200, primary_key=True)
    queues = ArrayField(models.CharField(max_length=100))
    slots = models.PositiveIntegerField()
    running = models.JSONField(default=list)
    started_at = models.DateTimeField()
    beat_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class ScheduledTaskRun(models.Model):
    """The latest run of a scheduled task.

    Attributes:
        error: The class of the exception that ended the run; empty if it succeeded.
    """

    name = models.CharField(max_length=200, primary_key=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField()
    error = models.CharField(max_length=200, blank=True)

    def __str__(self) -> str:
        return self.name


class Measurement(models.Model):
    """The durations and failures of one kind of work in five minutes, of all processes together.

    Attributes:
        period: The start of the five minutes. 1970 has the totals of all time, which /metrics reports.
        organization: Its id; the zero UUID stands for the whole installation.
        milliseconds: The sum of the durations.
        histogram: How many durations fell below each bound of ragsite.observability.measurement_buffer.
    """

    period = models.DateTimeField()
    kind = models.CharField(max_length=20)
    name = models.CharField(max_length=200)
    organization = models.UUIDField()
    count = models.BigIntegerField()
    failures = models.BigIntegerField()
    milliseconds = models.FloatField()
    histogram = ArrayField(models.BigIntegerField())

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["organization", "period", "kind", "name"], name="measurement_of_period"),
        )

    def __str__(self) -> str:
        return f"{self.period}: {self.kind} {self.name}"


class SlowOperation(UUIDModel):
    """One of the slowest questions or documents of a few seconds.

    Attributes:
        document: The job document (IngestionDocument); None for a question.
        stages: Stage → milliseconds.
    """

    class Kind(models.TextChoices):
        QUERY = "query"
        DOCUMENT = "document"

    at = models.DateTimeField()
    kind = models.CharField(max_length=10, choices=Kind.choices)
    milliseconds = models.FloatField()
    stages = models.JSONField(default=dict)
    organization = models.UUIDField(null=True)
    document = models.UUIDField(null=True)
    request_id = models.CharField(max_length=100, blank=True)

    class Meta:
        indexes = (models.Index(fields=["kind", "at"], name="slow_operations"),)

    def __str__(self) -> str:
        return f"{self.kind}: {self.milliseconds:.0f} ms"


class RecordedError(UUIDModel):
    """An error of a web server or worker, as in the log, without its message.

    Attributes:
        event: The name of the event in the log.
        exception: The class of the exception; empty without one.
        task: The Celery task, if there was one.
    """

    at = models.DateTimeField(db_index=True)
    event = models.CharField(max_length=200)
    exception = models.CharField(max_length=200, blank=True)
    request_id = models.CharField(max_length=100, blank=True)
    task = models.CharField(max_length=200, blank=True)

    def __str__(self) -> str:
        return self.event
