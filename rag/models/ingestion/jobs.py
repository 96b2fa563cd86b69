"""Ingestion jobs and their documents. The rows are the source of truth; a message is only a hint that there is work."""

import datetime
from typing import Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Case, Count, Exists, OuterRef, Q, Subquery, Sum, Value, When
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from accounts.audit.tracked_model import Row
from orgs.access.caller import Caller
from rag.models.content.documents import Document
from rag.models.content.originals import Original
from rag.models.sources import Action, DataSource, SourceContentQuerySet, SourceType
from ragsite.postgres.models import UUIDModel

from .fairness import IngestionFairness
from .model_outages import ModelOutage


class JobContentQuerySet(SourceContentQuerySet[Row]):
    """Queries of jobs and job documents, which are not visible to callers who may only query their source."""

    def visible_to(self, caller: Caller, action: Action) -> Self:
        """Jobs are visible (VIEW) to those who may send documents to the source or manage it."""
        if action is not Action.VIEW:
            return super().visible_to(caller, action)
        ingest, manage = (DataSource.objects.visible_to(caller, needed) for needed in (Action.INGEST, Action.MANAGE))
        return self.filter(Q(source__in=ingest.values("pk")) | Q(source__in=manage.values("pk")))


class IngestionJobQuerySet(JobContentQuerySet["IngestionJob"]):
    """Queries of jobs with their progress."""

    def with_progress(self) -> Self:
        """Annotate total, done, failed and chunks, counted from the documents' rows."""
        return self.annotate(
            total=Count("documents"),
            done=Count("documents", filter=Q(documents__state=IngestionDocument.State.DONE)),
            failed=Count("documents", filter=Q(documents__state=IngestionDocument.State.FAILED)),
            chunks=Coalesce(Sum("documents__chunk_count"), 0),
        )


class IngestionJob(UUIDModel):
    """A submission of documents to a data source. Its documents hold the state of the work."""

    class Status(models.TextChoices):
        QUEUED = "queued"
        PROCESSING = "processing"
        COMPLETED = "completed"
        FAILED = "failed"
        CANCELLED = "cancelled"

    OPEN_STATUSES = (Status.QUEUED, Status.PROCESSING)

    source = models.ForeignKey(DataSource, models.CASCADE, related_name="jobs")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.QUEUED)
    chunk_size = models.PositiveIntegerField()
    chunk_overlap = models.PositiveIntegerField()
    force_reparse = models.BooleanField(
        "reparse", default=False, help_text="Documents are processed even if their content has not changed."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    # Set by with_progress().
    total: int
    done: int
    failed: int
    chunks: int

    objects = IngestionJobQuerySet.as_manager()

    class Meta:
        verbose_name = "job"
        ordering = ("-id",)
        # For the sweep, which looks for unfinished jobs.
        indexes = (models.Index(fields=["id"], condition=Q(status__in=["queued", "processing"]), name="open_jobs"),)

    def __str__(self) -> str:
        return str(self.id)


class Condition(models.TextChoices):
    """The condition of an open document, which is derived from the rows and not stored."""

    QUEUED = "queued", "queued: a worker will take it"
    STARVED = "starved", "starved: no worker claims documents"
    RUNNING = "running", "running: a worker processes it"
    LOST = "lost", "lost: its worker no longer renews the lease"
    WAITING = "waiting", "waiting for another try"


# Queued documents are starved if no worker has claimed a document for this long.
_STARVED_AFTER_SECONDS = 60
# Job documents whose input is still stored, as text or as a file, so that they can be retried.
HAS_INPUT = ~Q(text="") | Q(original__isnull=False)
# Bytes of the text that was sent. PostgreSQL stores the length, so octet_length does not read the text.
TEXT_BYTES = models.Func(models.F("text"), function="octet_length", output_field=models.IntegerField())


class IngestionDocumentQuerySet(JobContentQuerySet["IngestionDocument"]):
    """Queries of job documents with their condition."""

    def with_condition(self) -> Self:
        """Annotate condition (empty if the document is not open) and retry_at (when a waiting document is retried)."""
        state, now = IngestionDocument.State, timezone.now()
        cutoff = now - datetime.timedelta(seconds=_STARVED_AFTER_SECONDS)
        outage = ModelOutage.objects.filter(model__sources=OuterRef("source"))
        leased = IngestionDocument.objects.filter(state=state.RUNNING, due_at__gte=now)
        is_work_progressing = Exists(leased) | Exists(IngestionFairness.objects.filter(served_at__gte=cutoff))
        queued = Q(state=state.QUEUED)
        return self.annotate(
            condition=Case(
                When(state=state.RUNNING, due_at__gte=now, then=Value(Condition.RUNNING)),
                When(state=state.RUNNING, then=Value(Condition.LOST)),
                When(queued & Q(due_at__gt=now), then=Value(Condition.WAITING)),
                When(queued & Exists(outage), then=Value(Condition.WAITING)),
                When(queued & Q(queued_at__lt=cutoff) & ~is_work_progressing, then=Value(Condition.STARVED)),
                When(queued, then=Value(Condition.QUEUED)),
                default=Value(""),
            ),
            retry_at=Case(When(queued, then=Greatest("due_at", Subquery(outage.values("until"))))),
        )


class IngestionDocument(UUIDModel):
    """A document of a job, with its input, its lease and its outcome."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    class Stage(models.TextChoices):
        PARSING = "parsing"
        EMBEDDING = "embedding"
        INDEXING = "indexing"

    class Outcome(models.TextChoices):
        CREATED = "created"
        UPDATED = "updated"
        UNCHANGED = "unchanged"

    OPEN_STATES = (State.QUEUED, State.RUNNING)

    job = models.ForeignKey(IngestionJob, models.CASCADE, related_name="documents", db_index=False)
    # The job's source, copied for the index by which workers claim documents. The row is deleted with its job.
    source = models.ForeignKey(
        DataSource, models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False, editable=False
    )
    index = models.PositiveIntegerField()
    path = models.TextField()
    title = models.TextField()
    # The input is either text or a file.
    text = models.TextField(
        help_text="Deleted when the document is done or cancelled, and some time after it has failed."
    )
    original = models.ForeignKey(Original, models.SET_NULL, null=True, related_name="+")
    content_type = models.CharField(max_length=200, blank=True)
    uri = models.TextField(blank=True)
    lang = models.CharField(max_length=20, blank=True)
    source_type = models.CharField(max_length=10, choices=SourceType.choices, blank=True)
    tags = ArrayField(models.TextField(), default=list)
    date = models.DateTimeField(null=True)
    metadata = models.JSONField(default=dict)
    content_hash = models.CharField(max_length=200)

    state = models.CharField(max_length=9, choices=State.choices, default=State.QUEUED)
    # How often a worker has claimed the document without an outcome. Too many attempts fail it.
    attempts = models.PositiveIntegerField(default=0)
    # How often a provider has failed. More of these are allowed than attempts.
    outages = models.PositiveIntegerField(default=0)
    # When it was submitted or retried.
    queued_at = models.DateTimeField(default=timezone.now)
    # While it is running: the current stage, and when it was claimed.
    stage = models.CharField(max_length=9, choices=Stage.choices, blank=True)
    claimed_at = models.DateTimeField(null=True)
    # Stage → milliseconds, of the last attempt.
    timings = models.JSONField(default=dict)
    # The token of the worker that has claimed the row. Only this worker may write the outcome.
    lease = models.UUIDField(null=True)
    # Running: when the lease expires if it is not renewed. Queued: when it may be claimed; empty means now.
    due_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=10, choices=Outcome.choices, blank=True)
    document = models.ForeignKey(Document, models.SET_NULL, null=True, related_name="+")
    # Grows while the document is embedded.
    chunk_count = models.PositiveIntegerField(default=0)
    # Why the document failed or waits; or what of a document that is done was not read.
    error_code = models.CharField(max_length=40, blank=True)
    error_message = models.TextField(blank=True)
    finished_at = models.DateTimeField(null=True)

    # Set by with_condition().
    condition: str
    retry_at: datetime.datetime | None

    objects = IngestionDocumentQuerySet.as_manager()

    class Meta:
        verbose_name = "job document"
        ordering = ("job", "index")
        constraints = (models.UniqueConstraint(fields=["job", "index"], name="document_of_job"),)
        # Partial indexes on open documents: for claiming, for the sweep, and for closing jobs.
        indexes = (
            models.Index(fields=["source", "id"], condition=Q(state="queued", due_at=None), name="claimable_documents"),
            models.Index(
                fields=["due_at"], condition=Q(state="queued", due_at__isnull=False), name="postponed_documents"
            ),
            models.Index(fields=["due_at"], condition=Q(state="running"), name="running_documents"),
            models.Index(fields=["job"], condition=Q(state__in=["queued", "running"]), name="open_documents_of_job"),
            models.Index(fields=["job"], condition=Q(state="failed"), name="failed_documents_of_job"),
            # For the deletion of expired inputs.
            models.Index(
                fields=["finished_at"], condition=Q(finished_at__isnull=False) & HAS_INPUT, name="documents_with_input"
            ),
        )

    def __str__(self) -> str:
        return f"{self.path} ({self.state})"
