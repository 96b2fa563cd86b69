"""The export of everything that is stored about a user, as JSON."""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import IO, TypeVar

from django.db import transaction
from django.db.models import Model, Q, QuerySet

from accounts.audit import events
from accounts.audit.events import AuditAction, AuditEvent, AuditObject
from accounts.models import User
from orgs.access.caller import Caller
from orgs.models import Invitation
from rag.models import ConversationMessage, Grant, IngestionJob
from rag.services.queries.history.stored_answers import readable_messages

Row = TypeVar("Row", bound=Mapping[str, object])
_ROWS_PER_QUERY = 500
_MESSAGE_FIELDS = ("role", "content", "created_at", "is_helpful", "rating_reason", "rating_comment")
_API_KEY_FIELDS = (
    *("id", "name", "prefix", "scopes", "source_ids", "networks"),
    *("created_at", "expires_at", "last_used_at", "refused_at", "flagged_at", "revoked_at"),
)


@transaction.atomic
def export_personal_data(user: User, file: IO[str]) -> None:
    """Write everything that is stored about the user, and record the export in the audit trail.

    The export contains no secrets, no hashes of secrets, and nothing about other people. Answers that use a source
    that the user may no longer query are withheld, as on the page "Ask".

    Args:
        user: The user.
        file: An open text file. Rows are written one by one, so that memory does not grow with their number.
    """
    events.record(AuditAction.EXPORTED, AuditObject.PERSON, object_id=user.pk, subject=user)
    file.write("{")
    for part_number, (name, rows) in enumerate(_export_parts(user)):
        file.write(f"{',' if part_number else ''}\n{json.dumps(name)}: [")
        for row_number, row in enumerate(rows):
            file.write(("," if row_number else "") + "\n  " + json.dumps(row, ensure_ascii=False, default=_to_text))
        file.write("\n]")
    file.write("\n}\n")


def _export_parts(user: User) -> Iterator[tuple[str, Iterable[Mapping[str, object]]]]:
    """Yield the name and the rows of each part of the export."""
    yield "profile", [_profile(user)]
    yield "memberships", _memberships(user)
    invitations = Invitation.objects.filter(email=user.email).order_by("pk")
    yield "invitations", _iterate(invitations.values("organization__slug", "sent_at", "accepted_at"))
    keys = user.api_keys.order_by("pk").values("organization__slug", *_API_KEY_FIELDS)
    yield "api_keys", _iterate(keys)
    sources = user.owned_sources.filter(deleted_at=None).order_by("pk")
    yield "owned_sources", _iterate(sources.values("id", "slug", "name", "visibility"))
    grants = Grant.objects.filter(user=user).order_by("pk")
    yield "grants", _iterate(grants.values("source", "source__slug", "granted_at", "expires_at"))
    yield "searches", _iterate(user.searches.order_by("pk").values("id", "text", "results", "created_at"))
    yield "conversations", _conversations(user)
    unanswered = user.unanswered_questions.order_by("pk")
    yield "unanswered_questions", _iterate(unanswered.values("question", "reason", "confidence", "created_at"))
    jobs = IngestionJob.objects.filter(created_by=user).order_by("pk")
    yield "jobs", _iterate(jobs.values("id", "source", "source__slug", "status", "created_at", "finished_at"))
    sign_ins = user.token_families.order_by("created_at")
    yield "sign_ins", _iterate(sign_ins.values("created_at", "expires_at"))
    identities = user.linked_identities.order_by("created_at")
    yield "linked_identities", _iterate(identities.values("provider__issuer", "subject", "created_at"))
    yield "audit_events", _events(user)


def _profile(user: User) -> dict[str, object]:
    fields = ("id", "email", "name", "is_active", "is_staff", "is_superuser", "date_joined", "last_login")
    return {field: getattr(user, field) for field in fields}


def _memberships(user: User) -> Iterator[dict[str, object]]:
    for membership in user.memberships.select_related("organization").prefetch_related("roles", "teams"):
        yield {
            "organization": membership.organization.slug,
            "is_active": membership.is_active,
            "since": membership.created_at,
            "roles": [role.name for role in membership.roles.all()],
            "teams": [team.name for team in membership.teams.all()],
        }


def _conversations(user: User) -> Iterator[dict[str, object]]:
    caller = Caller(user)
    for conversation in user.conversations.order_by("pk").iterator(chunk_size=_ROWS_PER_QUERY):
        messages = list(conversation.messages.order_by("position"))
        readable = {message.pk for message in readable_messages(caller, messages)}
        yield {
            "id": conversation.pk,
            "title": conversation.title,
            "created_at": conversation.created_at,
            "sources": conversation.rag_sources,
            "messages": [_message(message, is_withheld=message.pk not in readable) for message in messages],
        }


def _message(message: ConversationMessage, *, is_withheld: bool) -> dict[str, object]:
    fields = {field: getattr(message, field) for field in _MESSAGE_FIELDS}
    return {**fields, "content": "", "is_withheld": True} if is_withheld else fields


def _events(user: User) -> Iterator[dict[str, object]]:
    """Yield what the user did and what others did to them, without naming the others."""
    user_events = AuditEvent.objects.filter(Q(actor_id=user.pk) | Q(subject_id=user.pk)).order_by("pk")
    fields = ("at", "action", "kind", "object_id", "object_label", "organization_name", "before", "after")
    for event in user_events.iterator(chunk_size=_ROWS_PER_QUERY):
        is_actor = event.actor_id == user.pk
        values = {field: getattr(event, field) for field in fields}
        yield {**values, "by_themselves": is_actor, **({"address": event.address} if is_actor else {})}


def _iterate(queryset: QuerySet[Model, Row]) -> Iterable[Row]:
    return queryset.iterator(chunk_size=_ROWS_PER_QUERY)


def _to_text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
