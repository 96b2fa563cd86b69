"""What this app tells the audit trail: organisations and their people, and what they may do."""

from django.db import transaction

from accounts.audit.events import Act, Kind
from accounts.audit.tracking import Watch, watch, watch_lists

from .api_keys import service
from .api_keys.service import ApiKey, Refusal
from .models.organizations import Membership, Organization, Role, Team

_UNTOLD = {"id", "created_at", "deleted_at"}
_KEY = Watch(
    Kind.API_KEY,
    # Neither the hash, nor what a mere use of the key changes.
    fields=("name", "prefix", "scopes", "source_ids", "networks", "expires_at"),
    ends={"revoked_at": Act.REVOKED},
    organization=lambda row: row.organization,
    label=lambda row: row.prefix,
    subject=lambda row: row.user,
)


def begin() -> None:
    """Called once, when the app is ready."""
    every = tuple(field.name for field in Organization._meta.concrete_fields if field.name not in _UNTOLD)
    watch(
        Organization,
        Watch(
            Kind.ORGANIZATION,
            fields=every,
            ends={"deleted_at": Act.DELETED},
            organization=lambda row: row,
            unless=lambda row: row.deleted_at is not None,
        ),
    )
    watch(Role, _of_organization(Kind.ROLE, "name", "permissions"))
    watch(Team, _of_organization(Kind.TEAM, "name", "parent"))
    watch(
        Membership,
        Watch(
            Kind.MEMBERSHIP,
            fields=("organization", "is_active"),
            organization=lambda row: row.organization,
            label=lambda row: "",
            subject=lambda row: row.user,
        ),
    )
    watch_lists(Membership, "roles", "teams")
    watch(ApiKey, _KEY)


def _of_organization(kind: Kind, *fields: str) -> Watch:
    return Watch(kind, fields=fields, organization=lambda row: row.organization, label=lambda row: row.name)


@transaction.atomic
def record_refused_key(key: ApiKey, why: Refusal) -> None:
    """Once an hour for each key: whoever has one can send it as often as they like, also when it counts no more."""
    if service.note_refusal(key):
        _KEY.record(Act.REFUSED, key, after={"reason": why})
