"""Pull sync: where the documents of a data source are fetched from, what is known of them, and what each sync did."""

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext_lazy as _

from accounts.audit.tracking import TrackedModelMixin, TrackedQuerySet
from orgs.access.caller import Caller
from rag.models.content.documents import Document
from rag.models.sources import Action, DataSource
from ragsite.postgres.credential_fields import HiddenTextField
from ragsite.postgres.models import UUIDModel

MAX_LOCATION_CHARACTERS = 1_000


def synced_sources(caller: Caller) -> QuerySet[DataSource]:
    """Return the sources whose sync the caller may see and change: they manage it, and may send documents to it."""
    managed = DataSource.objects.visible_to(caller, Action.MANAGE)
    return managed.filter(pk__in=DataSource.objects.visible_to(caller, Action.INGEST).values("pk"))


class SyncKind(models.TextChoices):
    """The kinds of places that documents are fetched from."""

    FOLDER = "folder", _("folder on the server")
    S3 = "s3", _("S3 bucket")
    FILE_SYSTEM = "file_system", _("file system of the operator")
    WEBSITE = "website", _("website with a sitemap")


class SyncInterval(models.IntegerChoices):
    """How often a source is synced, in minutes."""

    QUARTER_HOUR = 15, _("every 15 minutes")
    HOUR = 60, _("every hour")
    SIX_HOURS = 360, _("every 6 hours")
    DAY = 1_440, _("every day")
    WEEK = 10_080, _("every week")


class SyncConnectionQuerySet(TrackedQuerySet["SyncConnection"]):
    """Queries of connections, restricted by the access rule."""

    def visible_to(self, caller: Caller) -> Self:
        return self.filter(source__in=synced_sources(caller).values("pk"))


class SyncConnection(TrackedModelMixin, UUIDModel):
    """Where the documents of a data source are fetched from, and when. A source has at most one.

    Attributes:
        location: By kind: a folder, `bucket/prefix`, the operator's name of a file system and a folder in it, or the
            address of a sitemap or website.
        patterns: Which items are fetched, one pattern per line. Empty: all.
        secret: The secret key of an S3 bucket, encrypted (ragsite.postgres.encryption).
        acts_for: Who has saved it last. A sync runs only while they may send documents to the source and manage it.
        due_at: When the next scheduled sync starts.
    """

    source = models.OneToOneField(
        DataSource, models.CASCADE, related_name="sync_connection", verbose_name=_("data source")
    )
    kind = models.CharField(_("kind"), max_length=11, choices=SyncKind.choices)
    location = models.CharField(_("location"), max_length=MAX_LOCATION_CHARACTERS)
    patterns = models.TextField(_("patterns"), max_length=2_000, blank=True)
    endpoint = models.CharField(_("endpoint"), max_length=500, blank=True)
    region = models.CharField(_("region"), max_length=50, blank=True)
    access_key = models.CharField(_("access key"), max_length=200, blank=True)
    secret = HiddenTextField(blank=True, editable=False)
    interval_minutes = models.PositiveIntegerField(
        _("schedule"), choices=SyncInterval.choices, null=True, blank=True, help_text=_("Empty: only by hand.")
    )
    is_active = models.BooleanField(_("active"), default=True)
    acts_for = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        editable=False,
        related_name="+",
        verbose_name=_("acts for"),
    )
    due_at = models.DateTimeField(_("next sync"), null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = SyncConnectionQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        verbose_name = _("sync connection")
        verbose_name_plural = _("sync connections")

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.location}"


class SyncRunQuerySet(models.QuerySet["SyncRun"]):
    """Queries of runs, which are visible together with their connection."""

    def visible_to(self, caller: Caller) -> Self:
        return self.filter(connection__source__in=synced_sources(caller).values("pk"))


class SyncRun(UUIDModel):
    """One sync of a connection. The state is stored in the database, so that any worker can continue it at any time.

    Attributes:
        cursor: Where the listing continues: the connector's value after the last page that was stored.
        missing: The documents whose items have disappeared, when that was counted.
        errors: `path`, `code` and `message` of at most MAX_ERRORS items.
        error: Why the run has failed or ended early.
        is_removal_confirmed: Whether a person has confirmed that many documents are removed.
        worked_at: When a worker last took it.
    """

    MAX_ERRORS = 100

    class State(models.TextChoices):
        RUNNING = "running", _("running")
        WAITING = "waiting", _("waiting for confirmation")
        STOPPED = "stopped", _("stopped")
        FINISHED = "finished", _("finished")
        FAILED = "failed", _("failed")

    class Phase(models.TextChoices):
        LISTING = "listing", _("listing")
        SENDING = "sending", _("sending changes")
        REMOVING = "removing", _("removing")

    OPEN_STATES = (State.RUNNING, State.WAITING)

    connection = models.ForeignKey(SyncConnection, models.CASCADE, related_name="runs", db_index=False)
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", verbose_name=_("started by")
    )
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.RUNNING)
    phase = models.CharField(_("phase"), max_length=8, choices=Phase.choices, default=Phase.LISTING)
    cursor = models.JSONField(null=True)
    listed = models.PositiveIntegerField(_("listed"), default=0)
    skipped = models.PositiveIntegerField(_("skipped"), default=0)
    added = models.PositiveIntegerField(_("added"), default=0)
    changed = models.PositiveIntegerField(_("changed"), default=0)
    renamed = models.PositiveIntegerField(_("renamed"), default=0)
    removed = models.PositiveIntegerField(_("removed"), default=0)
    failed = models.PositiveIntegerField(_("failed"), default=0)
    missing = models.PositiveIntegerField(_("disappeared"), default=0)
    errors = models.JSONField(default=list)
    error = models.CharField(_("error"), max_length=300, blank=True)
    is_stop_requested = models.BooleanField(default=False)
    is_removal_confirmed = models.BooleanField(default=False)
    created_at = models.DateTimeField(_("started"), auto_now_add=True)
    worked_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(_("finished"), null=True)

    objects = SyncRunQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        verbose_name = _("sync")
        verbose_name_plural = _("syncs")
        constraints = (
            models.UniqueConstraint(
                fields=["connection"], condition=Q(state__in=["running", "waiting"]), name="one_open_sync"
            ),
        )
        indexes = (
            models.Index(fields=["connection", "-id"], name="syncs_of_connection"),
            models.Index(fields=["worked_at"], condition=Q(state="running"), name="running_syncs"),
            models.Index(fields=["created_at"], name="syncs_by_age"),
        )

    def __str__(self) -> str:
        started = date_format(timezone.localtime(self.created_at), "DATETIME_FORMAT")
        return f"{started} ({self.get_state_display()})"


class SyncItemQuerySet(models.QuerySet["SyncItem"]):
    """Queries of items by the next step of a sync."""

    def missing_in(self, run: SyncRun) -> Self:
        """Return the items that the run has not listed: they have disappeared."""
        return self.filter(connection=run.connection_id).filter(Q(seen_in=None) | ~Q(seen_in=run.pk))

    def to_submit_in(self, run: SyncRun) -> Self:
        """Return the listed items that the run must still look at: new and changed ones, and those that failed before.

        An item whose document was deleted or replaced by others is sent again.
        """
        is_changed = Q(listed_version="") | ~Q(version=F("listed_version")) | ~Q(error_code="")
        has_other_content = (
            Q(document=None)
            | Q(document__deleted_at__isnull=False)
            | ~Q(document__path=F("path"))
            | ~Q(document__content_hash=F("content_hash"))
        )
        listed = self.filter(connection=run.connection_id, seen_in=run.pk, submitted=None)
        return listed.exclude(handled_in=run.pk).filter(is_changed | has_other_content)

    def submitted_for(self, connection: SyncConnection) -> Self:
        """Return the items whose documents were submitted, and whose outcome was not read yet."""
        return self.filter(connection=connection, submitted__isnull=False)


class SyncItem(UUIDModel):
    """What is known of a file or page of a connection.

    Attributes:
        path: Its name at the connection, which is also the path of its document.
        listed_version: The version in the latest listing; empty if the listing has none.
        seen_in: The run that has listed it last.
        handled_in: The run that has looked at it last.
        version: The version that is ingested.
        validators: The `ETag` and `Last-Modified` of the ingested version of a page.
        content_hash: SHA-256 of the ingested version.
        document: The document that it has become.
        submitted: The id of the job document of a new version, until its outcome was read.
        submitted_state: `version`, `validators` and `content_hash` of that version.
    """

    connection = models.ForeignKey(SyncConnection, models.CASCADE, related_name="items", db_index=False)
    path = models.TextField()
    listed_version = models.CharField(max_length=300, blank=True)
    seen_in = models.UUIDField(null=True)
    handled_in = models.UUIDField(null=True)
    version = models.CharField(max_length=300, blank=True)
    validators = models.JSONField(default=dict)
    content_hash = models.CharField(max_length=64, blank=True)
    document = models.ForeignKey(Document, models.SET_NULL, null=True, related_name="+")
    submitted = models.UUIDField(null=True)
    submitted_state = models.JSONField(default=dict)
    error_code = models.CharField(max_length=40, blank=True)
    error_message = models.CharField(max_length=300, blank=True)

    objects = SyncItemQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["connection", "path"], name="item_of_connection"),)
        indexes = (
            models.Index(fields=["connection", "content_hash"], name="sync_items_by_content"),
            models.Index(
                fields=["connection", "id"], condition=Q(submitted__isnull=False), name="submitted_sync_items"
            ),
        )

    def __str__(self) -> str:
        return self.path
