"""What is kept about a person, for that person: as JSON, written row by row."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import IO, Any

from django.db import transaction
from django.db.models import Q

from accounts.audit import events
from accounts.audit.events import Act, AuditEvent, Kind
from accounts.models import User
from rag.models import Grant, IngestionJob

_ROWS = 500
_OF_A_KEY = (
    *("id", "name", "prefix", "scopes", "source_ids", "networks"),
    *("created_at", "expires_at", "last_used_at", "refused_at", "flagged_at", "revoked_at"),
)


@transaction.atomic
def export(user: User, file: IO[str]) -> None:
    """Write all of it. Neither secrets nor their hashes, and of other people nothing."""
    events.record(Act.EXPORTED, Kind.PERSON, object_id=user.pk, subject=user)
    file.write("{")
    for number, (name, rows) in enumerate(_parts(user)):
        file.write(f"{',' if number else ''}\n{json.dumps(name)}: [")
        for index, row in enumerate(rows):
            file.write(("," if index else "") + "\n  " + json.dumps(row, ensure_ascii=False, default=_plain))
        file.write("\n]")
    file.write("\n}\n")


def _parts(user: User) -> Iterator[tuple[str, Iterable[dict[str, Any]]]]:
    yield "profile", [_profile(user)]
    yield "memberships", _memberships(user)
    keys = user.api_keys.order_by("pk").values("organization__slug", *_OF_A_KEY)
    yield "api_keys", _in_turn(keys)
    sources = user.owned_sources.filter(deleted_at=None).order_by("pk")
    yield "owned_sources", _in_turn(sources.values("id", "slug", "name", "visibility"))
    grants = Grant.objects.filter(user=user).order_by("pk")
    yield "grants", _in_turn(grants.values("source", "source__slug", "granted_at", "expires_at"))
    yield "searches", _in_turn(user.searches.order_by("pk").values("id", "text", "results", "created_at"))
    yield "conversations", _conversations(user)
    jobs = IngestionJob.objects.filter(created_by=user).order_by("pk")
    yield "jobs", _in_turn(jobs.values("id", "source", "source__slug", "status", "created_at", "finished_at"))
    yield "audit_events", _events(user)


def _profile(user: User) -> dict[str, Any]:
    names = ("id", "email", "name", "is_active", "is_staff", "is_superuser", "date_joined", "last_login")
    return {name: getattr(user, name) for name in names}


def _memberships(user: User) -> Iterator[dict[str, Any]]:
    for row in user.memberships.select_related("organization").prefetch_related("roles", "teams"):
        yield {
            "organization": row.organization.slug,
            "is_active": row.is_active,
            "since": row.created_at,
            "roles": [role.name for role in row.roles.all()],
            "teams": [team.name for team in row.teams.all()],
        }


def _conversations(user: User) -> Iterator[dict[str, Any]]:
    for row in user.conversations.order_by("pk").iterator(chunk_size=_ROWS):
        messages = row.messages.order_by("position").values("role", "content", "created_at")
        yield {"id": row.pk, "created_at": row.created_at, "sources": row.rag_sources, "messages": list(messages)}


def _events(user: User) -> Iterator[dict[str, Any]]:
    """What they did, and what was done to them; by whom is another person's."""
    about = AuditEvent.objects.filter(Q(actor_id=user.pk) | Q(subject_id=user.pk)).order_by("pk")
    names = ("at", "action", "kind", "object_id", "object_label", "organization_name", "before", "after")
    for event in about.iterator(chunk_size=_ROWS):
        own = event.actor_id == user.pk
        told = {name: getattr(event, name) for name in names}
        yield {**told, "by_themselves": own, **({"address": event.address} if own else {})}


def _in_turn(rows: Any) -> Iterable[dict[str, Any]]:
    return rows.iterator(chunk_size=_ROWS)


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
