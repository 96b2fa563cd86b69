"""What the audit trail records about organisations: members, roles, teams, API keys, invitations and sign-in."""

from typing import Any

from django.db import transaction
from django.db.models import Model

from accounts.audit.events import AuditAction, AuditObject
from accounts.audit.tracked_model import TrackedModel
from accounts.audit.tracking import track, track_many_to_many

from .api_keys import check_key
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

_UNTRACKED_FIELDS = {"id", "created_at", "deleted_at"}
_TRACKED: dict[type[Model], TrackedModel[Any]] = {
    Organization: TrackedModel[Organization](
        AuditObject.ORGANIZATION,
        fields=[field.name for field in Organization._meta.concrete_fields if field.name not in _UNTRACKED_FIELDS],
        end_actions={"deleted_at": AuditAction.DELETED},
        organization=lambda organization: organization,
        is_already_recorded=lambda organization: organization.deleted_at is not None,
    ),
    Role: TrackedModel[Role](
        AuditObject.ROLE,
        fields=("name", "permissions"),
        organization=lambda role: role.organization,
        label=lambda role: role.name,
    ),
    Team: TrackedModel[Team](
        AuditObject.TEAM,
        fields=("name", "parent"),
        organization=lambda team: team.organization,
        label=lambda team: team.name,
    ),
    Membership: TrackedModel[Membership](
        AuditObject.MEMBERSHIP,
        fields=("organization", "is_active"),
        organization=lambda membership: membership.organization,
        label=lambda membership: "",
        subject=lambda membership: membership.user,
    ),
    IdentityProvider: TrackedModel[IdentityProvider](
        AuditObject.IDENTITY_PROVIDER,
        fields=(
            *("name", "protocol", "issuer", "client_id", "groups_claim", "is_active", "is_enforced"),
            *("emergency_user", "sign_in_url", "sign_out_url", "sign_out_response_url", "certificates"),
        ),
        redacted=("client_secret",),
        organization=lambda provider: provider.organization,
        label=lambda provider: provider.name,
    ),
    SignInDomain: TrackedModel[SignInDomain](
        AuditObject.SIGN_IN_DOMAIN,
        fields=("domain", "verified_at"),
        organization=lambda domain: domain.organization,
        label=lambda domain: domain.domain,
    ),
    LinkedIdentity: TrackedModel[LinkedIdentity](
        AuditObject.LINKED_IDENTITY,
        fields=(),  # the subject is a personal identifier
        organization=lambda linked: linked.provider.organization,
        label=lambda linked: linked.provider.name,
        subject=lambda linked: linked.user,
    ),
    ScimToken: TrackedModel[ScimToken](
        AuditObject.SCIM_TOKEN,
        fields=("prefix",),
        organization=lambda token: token.organization,
        label=lambda token: token.prefix,
    ),
    GroupMapping: TrackedModel[GroupMapping](
        AuditObject.GROUP_MAPPING,
        fields=("group", "role", "team"),
        organization=lambda mapping: mapping.provider.organization,
        label=lambda mapping: mapping.group,
    ),
    Invitation: TrackedModel[Invitation](
        AuditObject.INVITATION,
        # Not the address: the audit trail names only people with an account.
        fields=("sends", "expires_at"),
        end_actions={"accepted_at": AuditAction.ACCEPTED, "revoked_at": AuditAction.REVOKED},
        organization=lambda invitation: invitation.organization,
        label=lambda invitation: "",
    ),
    ApiKey: TrackedModel[ApiKey](
        AuditObject.API_KEY,
        # Neither the hash nor the fields that every use of the key changes.
        fields=("name", "prefix", "scopes", "all_organizations", "source_ids", "networks", "expires_at"),
        end_actions={"revoked_at": AuditAction.REVOKED},
        organization=lambda key: key.organization,
        label=lambda key: key.prefix,
        subject=lambda key: key.user,
    ),
}


def register() -> None:
    """Start recording changes of the models in _TRACKED. Called once, when the app is ready."""
    for model, tracked in _TRACKED.items():
        track(model, tracked)
    for model in (Membership, Invitation):
        track_many_to_many(model, "roles", "teams")


@transaction.atomic
def record_refused_key(key: ApiKey, reason: RefusalReason) -> None:
    """Record that a known key was refused, at most once an hour for each key: its holder may try it endlessly."""
    if check_key.record_refusal(key):
        _TRACKED[ApiKey].record(AuditAction.REFUSED, key, after={"reason": reason})
