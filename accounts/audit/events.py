"""The audit trail: who did what to what, and from where (docs/decisions/0038-audit-trail.md).

Rows are only ever added: the database itself refuses everything else (migration 0002). A person is named in the
columns for people alone (`actor_…`, `subject_…`, `address`), so that they can be made anonymous when the account is
deleted; everywhere else stand ids. Secrets, documents and questions are never a part of it.
"""

import datetime
import hashlib
import uuid
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone

from ragsite.postgres import identity
from ragsite.postgres.models import UUIDModel

from .request_context import origin

# Rows younger than this cannot be deleted at all; the trigger says the same.
LEAST_DAYS = 90
_BATCH = 5_000
_LABEL = 200
_EMAIL = 254


class Act(models.TextChoices):
    SIGNED_IN = "signed_in", "signed in"
    SIGN_IN_FAILED = "sign_in_failed", "sign-in failed"
    SIGNED_OUT = "signed_out", "signed out"
    CREATED = "created", "created"
    CHANGED = "changed", "changed"
    DELETED = "deleted", "deleted"
    REVOKED = "revoked", "revoked"
    REFUSED = "refused", "refused"
    EXPORTED = "exported", "exported"


class Kind(models.TextChoices):
    """What it happened to."""

    USER = "user", "user"
    ORGANIZATION = "organization", "organisation"
    MEMBERSHIP = "membership", "membership"
    ROLE = "role", "role"
    TEAM = "team", "team"
    API_KEY = "api_key", "API key"
    SOURCE = "source", "data source"
    GRANT = "grant", "grant"
    DOCUMENT = "document", "document"
    REEMBEDDING = "reembedding", "re-embedding"
    GOLDEN_QUESTIONS = "golden_questions", "golden questions"
    PERSON = "person", "data of a person"
    AUDIT_TRAIL = "audit_trail", "audit trail"


class AuditEvent(UUIDModel):
    """`actor`: who did it; none for commands and workers. `subject`: the person it is about, where it is about one.

    before, after: the fields that changed. Ids, not foreign keys: an event outlives what it speaks of.
    """

    at = models.DateTimeField("when", default=timezone.now, db_index=True)
    action = models.CharField(max_length=15, choices=Act.choices)
    kind = models.CharField("kind of object", max_length=20, choices=Kind.choices)
    object_id = models.CharField(max_length=40, blank=True)
    object_label = models.CharField("object", max_length=_LABEL, blank=True)
    organization_id = models.UUIDField(null=True, blank=True)
    organization_name = models.CharField("organisation", max_length=150, blank=True)
    actor_id = models.UUIDField(null=True, blank=True, db_index=True)
    actor_email = models.CharField("who", max_length=_EMAIL, blank=True)
    key_prefix = models.CharField("by API key", max_length=20, blank=True)
    subject_id = models.UUIDField(null=True, blank=True, db_index=True)
    subject_email = models.CharField("about whom", max_length=_EMAIL, blank=True)
    before = models.JSONField(default=dict, blank=True)
    after = models.JSONField(default=dict, blank=True)
    address = models.GenericIPAddressField("network address", null=True, blank=True)
    request_id = models.CharField("request", max_length=40, blank=True)

    class Meta:
        ordering = ("-id",)
        indexes = (models.Index(fields=["organization_id", "-id"], name="audit_of_organization"),)

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.get_action_display()}"


def record(
    action: Act,
    kind: Kind,
    *,
    object_id: object = "",
    label: str = "",
    organization: Any = None,
    subject: Any = None,
    subject_email: str = "",
    actor: Any = None,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    """Add an event, in the caller's transaction: where the change is rolled back, it did not happen.

    organization: an Organization. subject, actor: a User; without an actor, whoever the request in hand is of.
    subject_email: where it is not the subject's present one. label, before, after: names, flags and ids.
    """
    where = origin()
    actor = actor or where.user
    AuditEvent.objects.create(
        action=action,
        kind=kind,
        object_id=str(object_id),
        object_label=label[:_LABEL],
        organization_id=organization.pk if organization else None,
        organization_name=organization.name if organization else "",
        actor_id=actor.pk if actor else None,
        actor_email=actor.email if actor else "",
        key_prefix=where.key_prefix,
        subject_id=subject.pk if subject else None,
        subject_email=(subject_email or (subject.email if subject else ""))[:_EMAIL],
        before=before or {},
        after=after or {},
        address=where.address,
        request_id=where.request_id,
    )


def pseudonym(user_id: uuid.UUID) -> str:
    """What stands for the address of an account that is gone: the same in every event, so that they still belong
    together. The trigger computes the same."""
    return f"deleted user {hashlib.sha256(str(user_id).encode()).hexdigest()[:8]}"


def anonymise(user_id: uuid.UUID) -> None:
    """Take the name off all that this user did and all that was done to them. The account must be gone by now, in
    this transaction at the latest: the trigger looks."""
    name = pseudonym(user_id)
    AuditEvent.objects.filter(actor_id=user_id).update(actor_email=name, address=None)
    AuditEvent.objects.filter(subject_id=user_id).update(subject_email=name)


def forget() -> int:
    """Remove events older than RAG_AUDIT_RETENTION_DAYS; how many there were. 0: they are kept for ever."""
    if not settings.RAG_AUDIT_RETENTION_DAYS:
        return 0
    before = timezone.now() - datetime.timedelta(days=max(settings.RAG_AUDIT_RETENTION_DAYS, LEAST_DAYS))
    forgotten = 0
    while batch := _forget_some(before):
        forgotten += batch
    return forgotten


@transaction.atomic
def _forget_some(before: datetime.datetime) -> int:
    with identity.run_as(identity.OWNER):  # the roles that the application works as have no right to delete here
        old = AuditEvent.objects.filter(at__lt=before).order_by("at").values_list("pk", flat=True)[:_BATCH]
        return AuditEvent.objects.filter(pk__in=list(old)).delete()[0]
