"""Ingestion jobs. The rows are the truth; a message on the broker is only a hint that there is work."""

import datetime
from typing import Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Case, Count, Exists, OuterRef, Q, Subquery, Sum, Value, When
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from orgs.access.caller import Caller
from rag.models.content.documents import Document
from rag.models.content.originals import Original
from rag.models.sources import Action, DataSource, SourceContentQuerySet, SourceType
from ragsite.postgres.models import UUIDModel

from .dispatch import IngestionTurn, ModelOutage


class JobContentQuerySet(SourceContentQuerySet):
    def visible_to(self, caller: Caller, action: Action) -> Self:
        """VIEW: whoever may send documents to the source or manage it may watch its jobs."""
        if action is not Action.VIEW:
            return super().visible_to(caller, action)
        ingest, manage = (DataSource.objects.visible_to(caller, needed) for needed in (Action.INGEST, Action.MANAGE))
        return self.filter(Q(source__in=ingest.values("pk")) | Q(source__in=manage.values("pk")))


class IngestionJobQuerySet(JobContentQuerySet):
    def with_progress(self) -> Self:
        """Annotate total, done, failed and chunks from the documents' own rows."""
        return self.annotate(
            total=Count("documents"),
            done=Count("documents", filter=Q(documents__state=IngestionDocument.State.DONE)),
            failed=Count("documents", filter=Q(documents__state=IngestionDocument.State.FAILED)),
            chunks=Coalesce(Sum("documents__chunk_count"), 0),
        )


class IngestionJob(UUIDModel):
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
    again = models.BooleanField("parsed again", default=False, help_text="Though nothing has changed.")
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
        ordering = ("-id",)
        # What has not ended is looked for by the sweep.
        indexes = (models.Index(fields=["id"], condition=Q(status__in=["queued", "processing"]), name="open_jobs"),)

    def __str__(self) -> str:
        return str(self.id)


class Condition(models.TextChoices):
    """How an open document fares; it follows from the rows, and is stored nowhere."""

    QUEUED = "queued", "queued: a worker will take it"
    STARVED = "starved", "starved: no worker takes anything"
    RUNNING = "running", "running: a worker is at it"
    LOST = "lost", "lost: its worker fell silent"
    WAITING = "waiting", "waiting for another try"


# Queued documents are starved when no worker has taken a document for so long.
_STARVED_AFTER_SECONDS = 60
# Documents whose input is still stored, as text or as a file: they can be retried.
HAS_INPUT = ~Q(text="") | Q(original__isnull=False)
# Bytes of the text that was sent. octet_length reads no text: PostgreSQL keeps the length where it keeps the text.
TEXT_BYTES = models.Func(models.F("text"), function="octet_length", output_field=models.IntegerField())


class IngestionDocumentQuerySet(JobContentQuerySet):
    def with_condition(self) -> Self:
        """Annotate condition (empty: it is not open) and retry_at, the earliest time of a postponed one's next try."""
        state, now = IngestionDocument.State, timezone.now()
        long_ago = now - datetime.timedelta(seconds=_STARVED_AFTER_SECONDS)
        outage = ModelOutage.objects.filter(model__sources=OuterRef("source"))
        held = IngestionDocument.objects.filter(state=state.RUNNING, due_at__gte=now)
        at_work = Exists(held) | Exists(IngestionTurn.objects.filter(served_at__gte=long_ago))
        queued = Q(state=state.QUEUED)
        return self.annotate(
            condition=Case(
                When(state=state.RUNNING, due_at__gte=now, then=Value(Condition.RUNNING)),
                When(state=state.RUNNING, then=Value(Condition.LOST)),
                When(queued & Q(due_at__gt=now), then=Value(Condition.WAITING)),
                When(queued & Exists(outage), then=Value(Condition.WAITING)),
                When(queued & Q(queued_at__lt=long_ago) & ~at_work, then=Value(Condition.STARVED)),
                When(queued, then=Value(Condition.QUEUED)),
                default=Value(""),
            ),
            retry_at=Case(When(queued, then=Greatest("due_at", Subquery(outage.values("until"))))),
        )


class IngestionDocument(UUIDModel):
    """One document of a job: what was sent, who holds it, what became of it."""

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
    # The job's, copied for the order in which workers take documents. The row goes with its job.
    source = models.ForeignKey(
        DataSource, models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False, editable=False
    )
    index = models.PositiveIntegerField()
    path = models.TextField()
    title = models.TextField()
    # One of the two: text that was sent as such, or a file.
    text = models.TextField(help_text="Emptied once it is done or cancelled; where it failed, after a while.")
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
    # Times that a worker took it and did not end it: a document that kills its workers is set aside.
    attempts = models.PositiveIntegerField(default=0)
    # Times that a provider refused or could not be reached: waited out for longer.
    outages = models.PositiveIntegerField(default=0)
    # When it was sent, or sent into another round by a retry.
    queued_at = models.DateTimeField(default=timezone.now)
    # While it runs: what is being done, and since when it is held.
    stage = models.CharField(max_length=9, choices=Stage.choices, blank=True)
    claimed_at = models.DateTimeField(null=True)
    # Stage → milliseconds, of the attempt that ended it.
    timings = models.JSONField(default=dict)
    # The token of the worker that holds the row: only its holder may write a result.
    lease = models.UUIDField(null=True)
    # Running: when the lease ends unless it is prolonged. Queued: not to be tried before; empty means now.
    due_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=10, choices=Outcome.choices, blank=True)
    document = models.ForeignKey(Document, models.SET_NULL, null=True, related_name="+")
    # Live: rises while the document is embedded.
    chunk_count = models.PositiveIntegerField(default=0)
    error_code = models.CharField(max_length=40, blank=True)
    error_message = models.TextField(blank=True)
    finished_at = models.DateTimeField(null=True)

    # Set by with_condition().
    condition: str
    retry_at: datetime.datetime | None

    objects = IngestionDocumentQuerySet.as_manager()

    class Meta:
        ordering = ("job", "index")
        constraints = (models.UniqueConstraint(fields=["job", "index"], name="document_of_job"),)
        # Only what is open is looked for: what a worker may take next, what the sweep brings back, and by whoever may
        # have finished the last of a job.
        indexes = (
            models.Index(fields=["source", "id"], condition=Q(state="queued", due_at=None), name="work_to_take"),
            models.Index(fields=["due_at"], condition=Q(state="queued", due_at__isnull=False), name="work_postponed"),
            models.Index(fields=["due_at"], condition=Q(state="running"), name="work_in_hand"),
            models.Index(fields=["job"], condition=Q(state__in=["queued", "running"]), name="open_of_job"),
            # What is still kept of what was sent in finished ones.
            models.Index(
                fields=["finished_at"],
                condition=Q(finished_at__isnull=False) & HAS_INPUT,
                name="inputs_kept",
            ),
        )

    def __str__(self) -> str:
        return f"{self.path} ({self.state})"
