"""What the audit trail records about organisations: their members, roles, teams and API keys."""

from typing import TypeVar

from django.db import transaction

from accounts.audit.events import AuditAction, AuditObject
from accounts.audit.tracking import TrackedModel, track, track_many_to_many

from .api_keys import key_lifecycle
from .models import (
    ApiKey,
    GroupMapping,
    IdentityProvider,
    Invitation,
    LinkedIdentity,
    Membership,
    Organization,
    Role,
    ScimToken,
    SignInDomain,
    Team,
)
from .models.api_keys import RefusalReason

_NamedRow = TypeVar("_NamedRow", Role, Team)

_UNTRACKED_FIELDS = {"id", "created_at", "deleted_at"}
_API_KEY = TrackedModel[ApiKey](
    AuditObject.API_KEY,
    # Neither the hash nor the fields that every use of the key changes.
    fields=("name", "prefix", "scopes", "all_organizations", "source_ids", "networks", "expires_at"),
    end_actions={"revoked_at": AuditAction.REVOKED},
    organization=lambda key: key.organization,
    label=lambda key: key.prefix,
    subject=lambda key: key.user,
)


def register() -> None:
    """Connect the audit trail. Called once, when the app is ready."""
    fields = [field.name for field in Organization._meta.concrete_fields if field.name not in _UNTRACKED_FIELDS]
    track(
        Organization,
        TrackedModel[Organization](
            AuditObject.ORGANIZATION,
            fields=fields,
            end_actions={"deleted_at": AuditAction.DELETED},
            organization=lambda organization: organization,
            is_already_recorded=lambda organization: organization.deleted_at is not None,
        ),
    )
    track(Role, _tracked_in_organization(Role, AuditObject.ROLE, "name", "permissions"))
    track(Team, _tracked_in_organization(Team, AuditObject.TEAM, "name", "parent"))
    track(
        Membership,
        TrackedModel[Membership](
            AuditObject.MEMBERSHIP,
            fields=("organization", "is_active"),
            organization=lambda membership: membership.organization,
            label=lambda membership: "",
            subject=lambda membership: membership.user,
        ),
    )
    track_many_to_many(Membership, "roles", "teams")
    track(
        IdentityProvider,
        TrackedModel[IdentityProvider](
            AuditObject.IDENTITY_PROVIDER,
            fields=(
                *("name", "protocol", "issuer", "client_id", "groups_claim", "is_active", "is_enforced"),
                *("emergency_user", "sign_in_url", "sign_out_url", "certificates"),
            ),
            redacted=("client_secret",),
            organization=lambda provider: provider.organization,
            label=lambda provider: provider.name,
        ),
    )
    track(
        SignInDomain,
        TrackedModel[SignInDomain](
            AuditObject.SIGN_IN_DOMAIN,
            fields=("domain", "verified_at"),
            organization=lambda domain: domain.organization,
            label=lambda domain: domain.domain,
        ),
    )
    track(
        LinkedIdentity,
        TrackedModel[LinkedIdentity](
            AuditObject.LINKED_IDENTITY,
            fields=(),  # the provider's name of the person is theirs
            organization=lambda linked: linked.provider.organization,
            label=lambda linked: linked.provider.name,
            subject=lambda linked: linked.user,
        ),
    )
    track(
        ScimToken,
        TrackedModel[ScimToken](
            AuditObject.SCIM_TOKEN,
            fields=("prefix",),
            organization=lambda token: token.organization,
            label=lambda token: token.prefix,
        ),
    )
    track(
        GroupMapping,
        TrackedModel[GroupMapping](
            AuditObject.GROUP_MAPPING,
            fields=("group", "role", "team"),
            organization=lambda mapping: mapping.provider.organization,
            label=lambda mapping: mapping.group,
        ),
    )
    track(
        Invitation,
        TrackedModel[Invitation](
            AuditObject.INVITATION,
            # Not the address: the audit trail names only people with an account.
            fields=("sends", "expires_at"),
            end_actions={"accepted_at": AuditAction.ACCEPTED, "revoked_at": AuditAction.REVOKED},
            organization=lambda invitation: invitation.organization,
            label=lambda invitation: "",
        ),
    )
    track_many_to_many(Invitation, "roles", "teams")
    track(ApiKey, _API_KEY)


def _tracked_in_organization(model: type[_NamedRow], kind: AuditObject, *fields: str) -> TrackedModel[_NamedRow]:
    return TrackedModel(kind, fields=fields, organization=lambda row: row.organization, label=lambda row: row.name)


@transaction.atomic
def record_refused_key(key: ApiKey, reason: RefusalReason) -> None:
    """Record that a known key was refused, at most once an hour for each key: its holder may try it endlessly."""
    if key_lifecycle.record_refusal(key):
        _API_KEY.record(AuditAction.REFUSED, key, after={"reason": reason})
