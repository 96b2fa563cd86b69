"""The audit trail: who did what to which object, and from where (docs/decisions/0038-audit-trail.md).

Events are only added. A trigger allows two other changes: deleting old events, and removing the e-mail addresses and
network addresses of a deleted account, which are in columns of their own. All other columns name people by their ids.
Secrets, documents and questions are never recorded.
"""

import datetime
import hashlib
import uuid
from collections.abc import Mapping
from typing import Protocol

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone

from ragsite.postgres import identity
from ragsite.postgres.models import UUIDModel

from .request_context import Person, get_request_context

# Younger rows cannot be deleted; a trigger enforces the same limit.
MIN_RETENTION_DAYS = 90
_BATCH_ROWS = 5_000
_MAX_LABEL_LENGTH = 200
MAX_EMAIL_CHARACTERS = 254
MAX_ORGANIZATION_NAME_CHARACTERS = 150


class AuditAction(models.TextChoices):
    """What happened to the object."""

    SIGNED_IN = "signed_in", "signed in"
    SIGN_IN_FAILED = "sign_in_failed", "sign-in failed"
    SIGNED_OUT = "signed_out", "signed out"
    TOKEN_REUSED = "token_reused", "token reused"
    CREATED = "created", "created"
    CHANGED = "changed", "changed"
    ACCEPTED = "accepted", "accepted"
    DELETED = "deleted", "deleted"
    REVOKED = "revoked", "revoked"
    REFUSED = "refused", "refused"
    EXPORTED = "exported", "exported"
    EXPLAINED = "explained", "explained a search"


class NamedRow(Protocol):
    """A row with a name, such as an organisation."""

    @property
    def pk(self) -> uuid.UUID: ...

    @property
    def name(self) -> str: ...


class AuditObject(models.TextChoices):
    """The kind of object that an event is about."""

    USER = "user", "user"
    ORGANIZATION = "organization", "organisation"
    MEMBERSHIP = "membership", "membership"
    ROLE = "role", "role"
    TEAM = "team", "team"
    INVITATION = "invitation", "invitation"
    API_KEY = "api_key", "API key"
    SOURCE = "source", "data source"
    GRANT = "grant", "grant"
    DOCUMENT = "document", "document"
    REEMBEDDING = "reembedding", "re-embedding"
    GOLDEN_QUESTIONS = "golden_questions", "golden questions"
    WEBHOOK = "webhook", "webhook"
    IDENTITY_PROVIDER = "identity_provider", "identity provider"
    SIGN_IN_DOMAIN = "sign_in_domain", "sign-in domain"
    LINKED_IDENTITY = "linked_identity", "linked account"
    GROUP_MAPPING = "group_mapping", "group mapping"
    SCIM_TOKEN = "scim_token", "SCIM token"
    PERSON = "person", "data of a person"
    AUDIT_TRAIL = "audit_trail", "audit trail"


class AuditEvent(UUIDModel):
    """One action. It holds ids instead of foreign keys, because an event outlives the rows it names.

    Attributes:
        actor_id: The user who acted. None for commands and workers.
        subject_id: The user whom the action concerns, if it concerns one.
        before: The old values of the changed fields.
        after: The new values of the changed fields.
    """

    at = models.DateTimeField("when", default=timezone.now, db_index=True)
    action = models.CharField(max_length=15, choices=AuditAction.choices)
    kind = models.CharField("kind of object", max_length=20, choices=AuditObject.choices)
    object_id = models.CharField(max_length=40, blank=True)
    object_label = models.CharField("object", max_length=_MAX_LABEL_LENGTH, blank=True)
    organization_id = models.UUIDField(null=True, blank=True)
    organization_name = models.CharField("organisation", max_length=MAX_ORGANIZATION_NAME_CHARACTERS, blank=True)
    actor_id = models.UUIDField(null=True, blank=True, db_index=True)
    actor_email = models.CharField("who", max_length=MAX_EMAIL_CHARACTERS, blank=True)
    key_prefix = models.CharField("by API key", max_length=20, blank=True)
    subject_id = models.UUIDField(null=True, blank=True, db_index=True)
    subject_email = models.CharField("about whom", max_length=MAX_EMAIL_CHARACTERS, blank=True)
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
    action: AuditAction,
    kind: AuditObject,
    *,
    object_id: object = "",
    label: str = "",
    organization: NamedRow | None = None,
    subject: Person | None = None,
    subject_email: str = "",
    actor: Person | None = None,
    before: Mapping[str, object] | None = None,
    after: Mapping[str, object] | None = None,
) -> None:
    """Add an event in the current transaction, so that it is rolled back together with the change.

    Args:
        label: A name for the object that contains no personal data.
        subject_email: The e-mail address to record if it is not the subject's current one.
        actor: The user who acted. The user of the current request if omitted.
        before: The old values of the changed fields: names, flags and ids.
        after: The new values of the changed fields.
    """
    context = get_request_context()
    actor = actor or context.user
    AuditEvent.objects.create(
        action=action,
        kind=kind,
        object_id=str(object_id),
        object_label=label[:_MAX_LABEL_LENGTH],
        organization_id=organization.pk if organization else None,
        organization_name=organization.name if organization else "",
        actor_id=actor.pk if actor else None,
        actor_email=actor.email if actor else "",
        key_prefix=context.key_prefix,
        subject_id=subject.pk if subject else None,
        subject_email=(subject_email or (subject.email if subject else ""))[:MAX_EMAIL_CHARACTERS],
        before=before or {},
        after=after or {},
        address=context.address,
        request_id=context.request_id,
    )


def pseudonym_of(user_id: uuid.UUID) -> str:
    """Return the text that replaces the e-mail address of a deleted account in the audit trail.

    It is the same in all events of the account, so that they can still be grouped. A trigger computes the same text.
    """
    return f"deleted user {hashlib.sha256(str(user_id).encode()).hexdigest()[:8]}"


def anonymize(user_id: uuid.UUID) -> None:
    """Replace the user's e-mail address in every event, and remove the network address of their actions.

    The account must have been deleted, at the latest in this transaction. A trigger checks that.
    """
    pseudonym = pseudonym_of(user_id)
    AuditEvent.objects.filter(actor_id=user_id).update(actor_email=pseudonym, address=None)
    AuditEvent.objects.filter(subject_id=user_id).update(subject_email=pseudonym)


def delete_expired() -> int:
    """Delete the events older than RAG_AUDIT_RETENTION_DAYS (0: keep all). Returns how many were deleted."""
    if not settings.RAG_AUDIT_RETENTION_DAYS:
        return 0
    cutoff = timezone.now() - datetime.timedelta(days=max(settings.RAG_AUDIT_RETENTION_DAYS, MIN_RETENTION_DAYS))
    total = 0
    while deleted := _delete_batch(cutoff):
        total += deleted
    return total


@transaction.atomic
def _delete_batch(cutoff: datetime.datetime) -> int:
    with identity.run_as(identity.OWNER):  # no other role may delete from this table
        expired = AuditEvent.objects.filter(at__lt=cutoff).order_by("at").values_list("pk", flat=True)[:_BATCH_ROWS]
        return AuditEvent.objects.filter(pk__in=list(expired)).delete()[0]
