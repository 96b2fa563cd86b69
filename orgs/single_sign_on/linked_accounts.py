"""Finds or creates the account that an identity provider speaks about, with its membership, roles and teams."""

import contextlib
import datetime
import functools

import structlog
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext

from accounts.audit import events
from accounts.audit.events import AuditAction, AuditObject
from accounts.models import MAX_EMAIL_CHARACTERS, User
from accounts.sign_out_everywhere import end_sign_ins
from orgs.access.delegation import AccessChangeRefused, change_access
from orgs.access.permissions import DEFAULT_ROLE
from orgs.models import GroupMapping, IdentityProvider, LinkedIdentity, Membership, Role, SignInDomain, Team
from ragsite.http.bodies.json_types import JsonObject
from ragsite.postgres import identity
from ragsite.postgres.models import is_storable

logger = structlog.get_logger(__name__)

# Google vouches only for addresses of organisations, whose accounts have the claim `hd`
# (https://developers.google.com/identity/openid-connect/openid-connect#an-id-tokens-payload).
_GOOGLE = "https://accounts.google.com"
_MAX_GROUPS = 1_000


class SignInRefused(Exception):
    """The provider has proved who the person is, and they may not sign in. The text is for them."""


class AccountLinkedAlready(SignInRefused):
    """The account with the person's address belongs to another account of the provider."""

    def __init__(self, user: User) -> None:
        super().__init__(
            gettext(
                "The account with your address belongs to another account of your identity provider. "
                "If both are yours, ask your administrator to unlink it."
            )
        )
        self.user = user


def find_or_create_account(provider: IdentityProvider, claims: JsonObject) -> User:
    """Return the account of a person whom the provider has signed in.

    A person is recognised by the provider's subject. At the first sign-in, the account with their address is used, or a
    new one is created. The address must belong to a verified domain of the organisation, so that no provider can sign
    in as members of another organisation. An account that another subject uses is not given to this person, because a
    provider may give an address to somebody else later. Superusers never sign in with a provider.

    Args:
        provider: Who has signed the person in.
        claims: What it says about them, verified by `openid_connect`.

    Raises:
        SignInRefused: If the person may not sign in.
    """
    # The role of sign-in reads memberships and changes none. What follows was proved by the provider.
    with identity.run_as(identity.STAFF):
        try:
            with contextlib.suppress(IntegrityError):  # a first sign-in of the same person, whose rows are found below
                return _sign_in(provider, claims["sub"], claims)
            return _sign_in(provider, claims["sub"], claims)
        except AccountLinkedAlready as refusal:
            _record_refusal(provider, refusal.user)
            raise


@transaction.atomic
def _sign_in(provider: IdentityProvider, subject: str, claims: dict[str, object]) -> User:
    linked = _linked_identity(provider, subject)
    user = linked.user if linked else _account_of_address(provider, claims)
    check_account(provider, user)
    if linked is None:
        _link(provider, subject, user)
    _update_membership(provider, user, _groups(provider, claims))
    return user


def _linked_identity(provider: IdentityProvider, subject: str) -> LinkedIdentity | None:
    return LinkedIdentity.objects.select_related("user").filter(provider=provider, subject=subject).first()


def _link(provider: IdentityProvider, subject: str, user: User) -> None:
    linked, _ = LinkedIdentity.objects.get_or_create(provider=provider, user=user, defaults={"subject": subject})
    if linked.subject != subject:
        raise AccountLinkedAlready(user)


def _record_refusal(provider: IdentityProvider, user: User) -> None:
    events.record(
        AuditAction.SIGN_IN_FAILED,
        AuditObject.LINKED_IDENTITY,
        label=provider.name,
        organization=provider.organization,
        subject=user,
    )


def _account_of_address(provider: IdentityProvider, claims: dict[str, object]) -> User:
    """Return the account with the address in the claims, or create it."""
    address = claims.get("email")
    # Some providers send the claim as text. Every other value means that the address is not verified.
    verified = claims.get("email_verified", True)
    is_verified = verified is True or verified == "true"
    if provider.issuer == _GOOGLE and not claims.get("hd"):
        is_verified = False  # a private account, with an address that was its person's when they created it
    if not isinstance(address, str) or not is_verified:
        raise SignInRefused(gettext("The identity provider sent no verified e-mail address."))
    email = User.objects.normalize_email(address)
    if not is_storable(email) or len(email) > MAX_EMAIL_CHARACTERS:
        raise SignInRefused(gettext("The identity provider sent an address that cannot be used."))
    _check_domain(provider, email)
    user = User.objects.filter(email=email).first()
    if user is not None:
        return user
    try:
        return User.objects.create_user(email, name=_displayable_name(claims))
    except ValueError as error:
        raise SignInRefused(str(error)) from None


def _displayable_name(claims: dict[str, object]) -> str:
    """Return the person's name; empty if the claim is not a text."""
    name = claims.get("name")
    return User.objects.displayable_name(name) if isinstance(name, str) else ""


def check_account(provider: IdentityProvider, user: User) -> None:
    """Check that the provider may sign this person in today.

    Raises:
        SignInRefused: If it may not.
    """
    check_authority(provider, user)
    if not user.is_active:
        raise SignInRefused(gettext("Your account is deactivated."))


def check_authority(provider: IdentityProvider, user: User) -> None:
    """Check that the provider decides about this person, even while the account is deactivated.

    Raises:
        SignInRefused: If it does not.
    """
    _check_domain(provider, user.email)
    if user.is_superuser:
        raise SignInRefused(gettext("Superusers sign in with their password."))


def end_sign_ins_of(provider: IdentityProvider, subject: str, *, requested_at: datetime.datetime) -> None:
    """End a person's sign-ins, if the provider still decides about them: it may have lost their domain.

    Those of a deactivated account end too, so that they do not continue when it is activated again.
    """
    if linked := _linked_identity(provider, subject):
        with contextlib.suppress(SignInRefused):
            check_authority(provider, linked.user)
            end_sign_ins(linked.user, requested_at=requested_at, method="identity provider")


def unlink(linked: LinkedIdentity) -> None:
    """Delete the link, and end the person's sign-ins if the provider still decides about them.

    Call it in a transaction: the sign-ins end after it, when nobody can sign in with the link any more.
    """
    with identity.run_as(identity.STAFF):  # administrators of the organisation do not see people who have left it
        provider, user = linked.provider, linked.user
        linked.delete()
        with contextlib.suppress(SignInRefused):
            check_authority(provider, user)
            transaction.on_commit(functools.partial(_end_sign_ins_of_unlinked, user))


def _end_sign_ins_of_unlinked(user: User) -> None:
    with identity.run_as(identity.SIGN_IN):  # only sign-in writes sessions and tokens
        end_sign_ins(user, requested_at=timezone.now(), method="unlinked")


def _check_domain(provider: IdentityProvider, email: str) -> None:
    domain = email.rpartition("@")[2]
    verified = SignInDomain.objects.filter(organization=provider.organization_id, verified_at__isnull=False)
    if not verified.filter(domain=domain).exists():
        message = gettext("{domain} is not a verified domain of this organisation. Ask your administrator.")
        raise SignInRefused(message.format(domain=domain))


def _groups(provider: IdentityProvider, claims: JsonObject) -> set[str]:
    groups = claims.get(provider.groups_claim)
    groups = groups if isinstance(groups, list) else [groups]
    return {group for group in groups[:_MAX_GROUPS] if isinstance(group, str)}


def _update_membership(provider: IdentityProvider, user: User, groups: set[str]) -> None:
    """Create the membership, and give it the roles and teams of the groups.

    Roles and teams that no group is mapped to stay as the organisation's administrators have set them.
    """
    membership = Membership.objects.filter(user=user, organization=provider.organization_id).first()
    if membership is not None and not membership.is_active:
        raise SignInRefused(gettext("Your membership in this organisation is deactivated."))
    is_new = membership is None
    membership = membership or Membership(user=user, organization_id=provider.organization_id)
    try:
        with change_access(actor=None, rows=[membership]):
            if is_new:
                membership.save()
            _apply_groups(provider, membership, groups, is_new=is_new)
    except AccessChangeRefused as error:  # the last owner has left the group: the organisation keeps its owner
        logger.warning("groups_not_applied", user=str(user.pk), reason=str(error))


def _apply_groups(provider: IdentityProvider, membership: Membership, groups: set[str], *, is_new: bool) -> None:
    mappings = list(GroupMapping.objects.filter(provider=provider).select_related("role", "team"))
    mappings_of_person = [mapping for mapping in mappings if mapping.group in groups]
    roles, teams = _roles(mappings_of_person), _teams(mappings_of_person)
    if is_new and not roles:
        roles |= set(Role.objects.filter(organization=provider.organization_id, name=DEFAULT_ROLE))
    mapped_roles, mapped_teams = _roles(mappings), _teams(mappings)
    current_roles, current_teams = set(membership.roles.all()), set(membership.teams.all())
    membership.roles.remove(*((mapped_roles - roles) & current_roles))
    membership.roles.add(*(roles - current_roles))
    membership.teams.remove(*((mapped_teams - teams) & current_teams))
    membership.teams.add(*(teams - current_teams))


def _roles(mappings: list[GroupMapping]) -> set[Role]:
    return {mapping.role for mapping in mappings if mapping.role}


def _teams(mappings: list[GroupMapping]) -> set[Team]:
    return {mapping.team for mapping in mappings if mapping.team}
