"""Issues, sends, renews, revokes and deletes invitations by e-mail. Only the hash of a link's token is stored."""

import secrets
from collections.abc import Iterable
from datetime import timedelta

import structlog
from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.db.models import QuerySet, Sum, signals
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import User
from orgs.access.caller import Caller
from orgs.access.delegation import AccessChangeRefused
from orgs.access.effective_permissions import effective_permissions
from orgs.access.permissions import Permission, describe_permissions
from orgs.models import Invitation, Membership, Organization, Role, Team
from ragsite.postgres import identity
from ragsite.postgres.credential_fields import hash_secret
from ragsite.postgres.locks import advisory_xact_locks

logger = structlog.get_logger(__name__)

# How long the link of an invitation is valid.
LIFETIME = timedelta(days=7)
# Bounds of what an organisation can make the server send and store.
MAX_OPEN_INVITATIONS = 200
MAX_SENT_AN_HOUR = 50
MAX_SENDS = 10
MIN_PAUSE = timedelta(minutes=1)
# How long ended invitations are kept, so that people see them.
_KEPT = timedelta(days=30)
_BATCH_SIZE = 1_000


class InvitationRefused(AccessChangeRefused):
    """The invitation cannot be issued or sent. The text is for the person who invites."""


def require_may_grant(inviter: User, organization: Organization, roles: Iterable[Role]) -> None:
    """Check that the inviter may invite into the organisation, and holds all that the roles give.

    Raises:
        InvitationRefused: They may not.
    """
    if inviter.is_active and inviter.is_superuser:
        return
    permissions = {right for pk, right in effective_permissions(Caller(inviter)).permissions if pk == organization.pk}
    granted = {permission for role in roles for permission in role.permissions}
    if missing := ({Permission.MEMBERS_MANAGE.value} | granted) - permissions:
        raise InvitationRefused(
            gettext("You can only give permissions you hold yourself. You lack {missing}.").format(
                missing=describe_permissions(missing)
            )
        )


@transaction.atomic
def issue(
    *, inviter: User, organization: Organization, email: str, roles: Iterable[Role], teams: Iterable[Team]
) -> tuple[Invitation, str]:
    """Store an invitation. It replaces an earlier one of the same address that was not accepted.

    Whether the address has an account makes no difference, so that nobody learns of accounts by inviting.

    Returns:
        The invitation, and the token for its link.

    Raises:
        InvitationRefused: The inviter may not give these roles, the address belongs to a member, or a bound is reached.
    """
    email, roles, teams = User.objects.normalize_email(email), list(roles), list(teams)
    advisory_xact_locks([f"invitations of {organization.pk}"])
    require_may_grant(inviter, organization, roles)
    organizations = {row.organization_id for row in roles} | {row.organization_id for row in teams}
    if organizations - {organization.pk}:
        raise InvitationRefused(gettext("Choose only what belongs to the organisation."))
    if Membership.objects.filter(organization=organization, user__email=email, is_active=True).exists():
        raise InvitationRefused(gettext("This address belongs to a member already."))
    invitations = Invitation.objects.filter(organization=organization)
    _require_address_limits(invitations.filter(email=email))
    revoke(invitations.filter(email=email))
    if invitations.open().count() >= MAX_OPEN_INVITATIONS:
        raise InvitationRefused(
            gettext("{max_open_invitations} invitations are open. Revoke those that are not needed.").format(
                max_open_invitations=MAX_OPEN_INVITATIONS
            )
        )
    _require_rate(invitations)
    token, now = secrets.token_urlsafe(32), timezone.now()
    invitation = Invitation.objects.create(
        organization=organization,
        email=email,
        invited_by=inviter,
        token_hash=hash_secret(token),
        sends=1,
        sent_at=now,
        expires_at=now + LIFETIME,
    )
    invitation.roles.set(roles)
    invitation.teams.set(teams)
    return invitation, token


def _require_address_limits(invitations: QuerySet[Invitation]) -> None:
    """Refuse another message to an address, for a new invitation or one that is sent again.

    Args:
        invitations: All invitations of the address.

    Raises:
        InvitationRefused: If the last message was sent less than a minute ago, or MAX_SENDS were sent within a day.
    """
    today = invitations.filter(sent_at__gt=timezone.now() - timedelta(days=1))
    sends = today.aggregate(number=Sum("sends"))["number"] or 0
    if sends >= MAX_SENDS or invitations.filter(sent_at__gt=timezone.now() - MIN_PAUSE).exists():
        raise InvitationRefused(
            gettext("An address is invited at most once a minute, and {max_sends} times a day.").format(
                max_sends=MAX_SENDS
            )
        )


def _require_rate(invitations: QuerySet[Invitation]) -> None:
    recent = invitations.filter(sent_at__gt=timezone.now() - timedelta(hours=1))
    if (recent.aggregate(number=Sum("sends"))["number"] or 0) >= MAX_SENT_AN_HOUR:
        raise InvitationRefused(
            gettext("{max_sent_an_hour} invitations were sent within an hour. Continue later.").format(
                max_sent_an_hour=MAX_SENT_AN_HOUR
            )
        )


@transaction.atomic
def renew(invitation: Invitation, *, inviter: User) -> str:
    """Give the invitation a new link, which ends the old one, and let it last as long as a new one.

    The person who sends it again becomes the inviter, because the roles are then given in their name.

    Returns:
        The token for the new link.

    Raises:
        InvitationRefused: The invitation was accepted, revoked or sent too often, or its roles give more permissions
            than the inviter holds.
    """
    advisory_xact_locks([f"invitations of {invitation.organization_id}"])
    stored = Invitation.objects.select_for_update().get(pk=invitation.pk)
    if stored.accepted_at or stored.revoked_at:
        raise InvitationRefused(gettext("This invitation was accepted or revoked. Invite the person again."))
    require_may_grant(inviter, stored.organization, stored.roles.all())
    now = timezone.now()
    if stored.sent_at > now - MIN_PAUSE or stored.sends >= MAX_SENDS:
        raise InvitationRefused(
            gettext("An invitation is sent at most once a minute, and {max_sends} times in all.").format(
                max_sends=MAX_SENDS
            )
        )
    # `sends` counts all sends of an invitation; those of this one were checked above.
    _require_rate(Invitation.objects.filter(organization=stored.organization).exclude(pk=stored.pk))
    token = secrets.token_urlsafe(32)
    stored.token_hash, stored.invited_by = hash_secret(token), inviter
    stored.sends, stored.sent_at, stored.expires_at = stored.sends + 1, now, now + LIFETIME
    stored.save(update_fields=["token_hash", "invited_by", "sends", "sent_at", "expires_at"])
    return token


def revoke(invitations: QuerySet[Invitation]) -> int:
    """End the invitations that were not accepted. Returns how many were ended."""
    return invitations.filter(accepted_at=None, revoked_at=None).update(revoked_at=timezone.now())


def send(invitation: Invitation, url: str) -> bool:
    """Send the link to the invited address. Call it after the commit. Returns whether the mail server took it."""
    # On one line: a name must not continue as further paragraphs of the message.
    organization = " ".join(invitation.organization.name.split())
    context = {"invitation": invitation, "organization": organization, "url": url, "days": LIFETIME.days}
    subject = gettext("Invitation to {organization}").format(organization=organization)
    text = render_to_string("orgs/invitation_email.txt", context)
    try:
        send_mail(subject, text, settings.RAG_EMAIL_FROM, [invitation.email])
    except OSError as error:  # smtplib's errors are OSErrors
        logger.warning("invitation_not_sent", invitation=str(invitation.pk), error=type(error).__name__)
        return False
    return True


def delete_ended() -> None:
    """Delete invitations some time after they were accepted, revoked or expired."""
    cutoff = timezone.now() - _KEPT
    old = Invitation.objects.filter(expires_at__lt=cutoff).order_by("pk").values_list("pk", flat=True)
    while ids := list(old[:_BATCH_SIZE]):
        QuerySet(Invitation).filter(pk__in=ids).delete()


def delete_with_accounts() -> None:
    """Delete the invitations of an address with its account. Called once, when the app is ready."""
    signals.post_delete.connect(_delete_of_account, sender=User, dispatch_uid="invitations of an account")


def end_with_memberships() -> None:
    """End the open invitations of members who are removed: they could join again. Called when the app is ready."""
    for signal in (signals.post_save, signals.post_delete):
        signal.connect(_end_of_membership, sender=Membership, dispatch_uid="invitations of a member")


def _end_of_membership(sender: type[Membership], instance: Membership, signal: object, **_: object) -> None:
    if signal is signals.post_delete or not instance.is_active:
        with identity.run_as(identity.STAFF):  # somebody who removes themselves does not see the invitations any more
            revoke(Invitation.objects.filter(organization=instance.organization_id, email=instance.user.email))


def _delete_of_account(sender: type[User], instance: User, **_: object) -> None:
    Invitation.objects.filter(email=instance.email).delete()
