"""Webhooks: addresses of an organisation to which events are sent, and what was and will be sent."""

import datetime
from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q, QuerySet

from accounts.audit.tracking import TrackedModelMixin, TrackedQuerySet
from accounts.models import User
from orgs.access.caller import Caller
from orgs.access.effective_permissions import effective_permissions
from orgs.access.permissions import Permission
from orgs.models import Organization
from ragsite.postgres.credential_fields import HiddenTextField
from ragsite.postgres.models import UUIDModel

from .sources import Action

MAX_URL_CHARACTERS = 1_000


class WebhookEvent(models.TextChoices):
    """The events that a webhook can receive."""

    JOB_FINISHED = "job.finished", "job.finished: all documents of a job have ended, and not all have failed"
    JOB_FAILED = "job.failed", "job.failed: all documents of a job have failed"
    DOCUMENT_FAILED = "document.failed", "document.failed: a document could not be ingested"
    QUOTA_NEARLY_REACHED = "quota.nearly_reached", "quota.nearly_reached: 90% of a quota is used"
    SOURCE_REEMBEDDED = "source.reembedded", "source.reembedded: a source was switched to another embedding model"
    SYNC_FINISHED = "sync.finished", "sync.finished: a sync has ended"
    SYNC_FAILED = "sync.failed", "sync.failed: a sync has failed"
    SYNC_WAITING = "sync.waiting", "sync.waiting: a sync waits for the confirmation that it may remove documents"


class WebhookQuerySet(TrackedQuerySet["Webhook"]):
    """Queries of webhooks, restricted by the access rule."""

    def visible_to(self, caller: Caller) -> Self:
        """Return the webhooks that the caller may see and change: those of organisations whose sources they manage.

        Events concern every source of the organisation, so an API key that is restricted to sources sees none.
        """
        return self.filter(organization__in=managed_organizations(caller).values("pk"))

    def replace_secret(self, encrypted_secret: str, *, old_secret_until: datetime.datetime) -> int:
        """Set a new secret and keep the current one until this time.

        A trigger copies it to `old_secret` (rag/migrations/sql/webhooks.sql), because requests may write secrets but
        not read them.
        """
        return self.update(secret=encrypted_secret, old_secret_until=old_secret_until)


def managed_organizations(caller: Caller) -> QuerySet[Organization]:
    """Return the organisations all of whose data sources the caller manages. The rule for webhooks."""
    organizations = Organization.objects.filter(is_active=True)
    permissions, user = effective_permissions(caller), caller.user
    if user.pk is None or not permissions.allows(Action.MANAGE) or permissions.sources is not None:
        return organizations.none()
    if not (user.is_superuser and User.objects.filter(pk=user.pk, is_active=True, is_superuser=True).exists()):
        return organizations.filter(pk__in=permissions.organizations_with(Permission.SOURCES_MANAGE))
    only = permissions.only_organization
    return organizations if only is None else organizations.filter(pk=only)


class Webhook(TrackedModelMixin, UUIDModel):
    """An address to which events of an organisation are sent.

    Attributes:
        secret: The key of the signatures, encrypted (ragsite.postgres.encryption).
        old_secret: The key before a rotation, which signs as well until `old_secret_until`.
        disabled_reason: Why it was switched off by ragsite and not by a person.
        skipped: Events that were not stored, because too many deliveries were waiting.
        quota_notified_at: Since when the quota is nearly reached; None if it is not, or no event was stored.
    """

    organization = models.ForeignKey(Organization, models.CASCADE, related_name="webhooks", verbose_name="organisation")
    url = models.CharField("address", max_length=MAX_URL_CHARACTERS)
    description = models.CharField(max_length=200, blank=True)
    events = ArrayField(models.CharField(max_length=30, choices=WebhookEvent.choices))
    is_active = models.BooleanField(default=True)
    secret = HiddenTextField(editable=False)
    old_secret = HiddenTextField(blank=True, editable=False)
    old_secret_until = models.DateTimeField(null=True, editable=False)
    disabled_reason = models.CharField(max_length=200, blank=True, editable=False)
    skipped = models.PositiveIntegerField(default=0, editable=False)
    quota_notified_at = models.DateTimeField(null=True, editable=False)
    last_success_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = WebhookQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.description or self.url


class WebhookDeliveryQuerySet(models.QuerySet["WebhookDelivery"]):
    """Queries of deliveries, which are visible together with their webhook."""

    def visible_to(self, caller: Caller) -> Self:
        return self.filter(webhook__in=Webhook.objects.visible_to(caller).values("pk"))


class WebhookDelivery(UUIDModel):
    """An event for one webhook. It is stored in the transaction in which the event happens, and sent by a worker.

    Attributes:
        payload: The body, without the secret parts of anything.
        due_at: When it is sent next. While it is sent: when another worker may send it, because this one was lost.
    """

    class State(models.TextChoices):
        PENDING = "pending"
        DELIVERED = "delivered"
        FAILED = "failed"

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries", db_index=False)
    event = models.CharField(max_length=30)
    payload = models.JSONField()
    state = models.CharField(max_length=9, choices=State.choices, default=State.PENDING)
    attempts = models.PositiveIntegerField(default=0)
    response_status = models.PositiveIntegerField(null=True)
    error = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = WebhookDeliveryQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at", "-id")
        verbose_name_plural = "webhook deliveries"
        indexes = (
            models.Index(fields=["webhook", "-created_at"], name="deliveries_of_webhook"),
            models.Index(fields=["webhook", "due_at"], condition=Q(state="pending"), name="pending_deliveries"),
            models.Index(fields=["created_at"], name="deliveries_by_age"),
        )

    def __str__(self) -> str:
        return f"{self.event} ({self.state})"
