"""Accepts invitations: gives the account of the invited address a membership, and creates the account if necessary."""

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import User
from orgs.access.delegation import AccessChangeRefused, change_access
from orgs.models import Invitation, Membership, Organization
from ragsite.postgres import identity
from ragsite.postgres.credential_fields import hash_secret

from .invitation_lifecycle import require_may_grant


class InvitationEnded(Exception):
    """The link is unknown, used, revoked or expired, or its inviter may not invite any more. Nobody learns which."""


def find(token: str) -> Invitation | None:
    """Return the open invitation with this token."""
    with identity.run_as(identity.SIGN_IN):  # nobody has signed in, and invitations are credentials
        invitations = Invitation.objects.open().select_related("organization")
        return invitations.filter(token_hash=hash_secret(token), organization__is_active=True).first()


def has_account(invitation: Invitation) -> bool:
    """Return whether the invited address has an account. Only for the holder of the token, who reads its mail."""
    with identity.run_as(identity.SIGN_IN):
        return User.objects.filter(email=invitation.email).exists()


def join(token: str, user: User) -> Organization:
    """Make the signed-in user a member as invited.

    Raises:
        InvitationEnded: The invitation is not valid, or was sent to another address.
    """
    with identity.run_as(identity.STAFF), transaction.atomic():  # requests may not create memberships
        invitation = _lock(token)
        if user.email != invitation.email:
            raise InvitationEnded
        return _accept(invitation, user)


def join_with_new_account(token: str, *, name: str, password: str) -> User:
    """Create the account of the invited address, and make it a member as invited.

    Raises:
        InvitationEnded: The invitation is not valid, the address has an account already, or no account can have it.
    """
    with identity.run_as(identity.STAFF), transaction.atomic():  # requests may create neither
        invitation = _lock(token)
        if User.objects.filter(email=invitation.email).exists():
            raise InvitationEnded
        try:
            with transaction.atomic():
                user = User.objects.create_user(invitation.email, password, name=name)
        # Another organisation's invitation has created it at this moment, or no account can have this address.
        except (IntegrityError, ValueError):
            raise InvitationEnded from None
        _accept(invitation, user)
        return user


def _lock(token: str) -> Invitation:
    """Return the open invitation with this token. Others who follow the same link wait, and find it used."""
    open_invitations = Invitation.objects.open().select_related("organization", "invited_by")
    invitation = open_invitations.select_for_update(of=("self",)).filter(token_hash=hash_secret(token)).first()
    if invitation is None or not invitation.organization.is_active:
        raise InvitationEnded
    return invitation


def _accept(invitation: Invitation, user: User) -> Organization:
    """Give the roles in the name of the inviter, who may have lost permissions since the invitation."""
    roles, inviter = list(invitation.roles.all()), invitation.invited_by
    membership = Membership.objects.filter(user=user, organization=invitation.organization).first()
    membership = membership or Membership(user=user, organization=invitation.organization)
    try:
        require_may_grant(inviter, invitation.organization, roles)
        with change_access(actor=inviter, rows=[membership]):
            membership.is_active = True
            membership.save()
            membership.roles.add(*roles)
            membership.teams.add(*invitation.teams.all())
    except AccessChangeRefused:
        raise InvitationEnded from None
    invitation.accepted_at = timezone.now()
    invitation.save(update_fields=["accepted_at"])
    return invitation.organization
