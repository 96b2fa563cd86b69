"""Request and response bodies of /api/auth/keys."""

import ipaddress
from datetime import datetime, timedelta
from typing import TypedDict

from django.utils import timezone
from rest_framework.exceptions import ValidationError

from accounts.models import User
from orgs.access.organization_resolver import MAX_REFERENCE_CHARACTERS
from orgs.access.permissions import Scope
from orgs.models import ApiKey
from orgs.models.api_keys import MAX_KEY_NAME_CHARACTERS
from ragsite.http import strict_fields
from ragsite.http.openapi.field_types import Count, Id
from ragsite.http.request_warnings import UnknownFieldWarnings

from . import key_lifecycle
from .key_lifecycle import IssuedKey


class FutureTime(strict_fields.Timestamp):
    """A time in the future."""

    def to_internal_value(self, value: object) -> datetime:
        moment: datetime = super().to_internal_value(value)
        if moment <= timezone.now():
            raise ValidationError(f"{self.label_in_messages} must be in the future")
        return moment


class Network(strict_fields.Text):
    """A network in CIDR notation, or a single address."""

    def to_internal_value(self, data: object) -> str:
        try:
            return str(ipaddress.ip_network(super().to_internal_value(data)))
        except ValueError:
            wrong = f"{self.label_in_messages} must hold networks such as 203.0.113.0/24, 2001:db8::/32 or 203.0.113.7"
            raise ValidationError(wrong) from None


class KeyIn(UnknownFieldWarnings):
    """A new API key."""

    name = strict_fields.Text("name", max_length=MAX_KEY_NAME_CHARACTERS)
    scopes = strict_fields.BoundedList(
        "scopes", child=strict_fields.Choice("scopes", choices=Scope.values), min_entries=1, max_entries=10
    )
    expires_at = FutureTime("expires_at", required=False, allow_null=True)
    organization = strict_fields.Text("organization", required=False, max_length=MAX_REFERENCE_CHARACTERS)
    all_organizations = strict_fields.Boolean("all_organizations", default=False)
    sources = strict_fields.BoundedList(
        "sources",
        child=strict_fields.Text("sources", max_length=MAX_REFERENCE_CHARACTERS),
        min_entries=1,
        max_entries=key_lifecycle.MAX_SOURCES,
        required=False,
        allow_null=True,
    )
    networks = strict_fields.BoundedList(
        "networks",
        child=Network("networks", max_length=43),
        min_entries=1,
        max_entries=key_lifecycle.MAX_NETWORKS,
        required=False,
        allow_null=True,
    )


class KeyRotationIn(UnknownFieldWarnings):
    """Options of the rotation of an API key."""

    overlap_hours = strict_fields.Integer(
        "overlap_hours",
        min_value=0,
        max_value=int(key_lifecycle.MAX_OVERLAP / timedelta(hours=1)),
        default=int(key_lifecycle.DEFAULT_OVERLAP / timedelta(hours=1)),
    )


class KeyOut(TypedDict):
    """An API key as its owner sees it. `sources` (ids) and `networks` (CIDR) are its restrictions, null for none.
    `flagged_at` is when it was first sent over plain HTTP: it should be replaced."""

    id: Id
    name: str
    prefix: str
    scopes: list[str]
    organization: str
    all_organizations: bool
    sources: list[Id] | None
    networks: list[str] | None
    expires_at: datetime | None
    created_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None
    flagged_at: datetime | None


class MemberKeyOut(KeyOut):
    """An API key as administrators see it. `user` is its owner's e-mail address, null for a former member."""

    user: str | None


class MemberKeysOut(TypedDict):
    """A page of the API keys of members."""

    keys: list[MemberKeyOut]
    page: Count
    page_size: Count
    total: Count


class NewKeyOut(TypedDict):
    """`key` is shown only in this response."""

    id: Id
    key: str
    name: str
    prefix: str
    scopes: list[str]
    organization: str
    all_organizations: bool
    sources: list[Id] | None
    networks: list[str] | None
    expires_at: datetime | None
    created_at: datetime


class KeysOut(TypedDict):
    """A page of the user's API keys."""

    keys: list[KeyOut]
    page: Count
    page_size: Count
    total: Count


def key_out(key: ApiKey) -> KeyOut:
    """Render a key. The key itself is not stored, so its prefix identifies it."""
    return {
        "id": str(key.pk),
        "name": key.name,
        "prefix": key.prefix,
        "scopes": key.scopes,
        "organization": key.organization.slug,
        "all_organizations": key.all_organizations,
        "sources": _source_ids(key),
        "networks": key.networks,
        "expires_at": key.expires_at,
        "created_at": key.created_at,
        "last_used_at": key.last_used_at,
        "revoked_at": key.revoked_at,
        "flagged_at": key.flagged_at,
    }


def member_key_out(key: ApiKey, user: User | None) -> MemberKeyOut:
    return {**key_out(key), "user": user.email if user else None}


def new_key_out(issued: IssuedKey) -> NewKeyOut:
    """Render a new key, together with the key itself."""
    key = issued.key
    return {
        "id": str(key.pk),
        "key": issued.secret,
        "name": key.name,
        "prefix": key.prefix,
        "scopes": key.scopes,
        "organization": key.organization.slug,
        "all_organizations": key.all_organizations,
        "sources": _source_ids(key),
        "networks": key.networks,
        "expires_at": key.expires_at,
        "created_at": key.created_at,
    }


def _source_ids(key: ApiKey) -> list[Id] | None:
    return None if key.source_ids is None else [str(source_id) for source_id in key.source_ids]
