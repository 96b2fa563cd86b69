"""Ends all sessions and tokens of an account at once. API keys are not sign-ins, and stay."""

import datetime

from django.db import transaction
from django.utils import timezone
from rest_framework_simplejwt.tokens import Token

from accounts import audited_events
from accounts.models import OAuthCode, TokenFamily, User
from ragsite.http.bodies.json_types import JsonObject


def end_sign_ins(user: User, *, requested_at: datetime.datetime, method: str) -> None:
    """End all sessions and tokens that the account has received before this moment.

    Args:
        user: Whose sign-ins end.
        requested_at: When the end was requested. Nothing happens if the sign-ins have ended since, so that nobody can
            repeat an old request of an identity provider.
        method: How the sign-ins were ended, for the audit trail.
    """
    with transaction.atomic():
        stored = User.objects.select_for_update().get(pk=user.pk)
        if stored.signed_out_at is not None and requested_at <= stored.signed_out_at:
            return
        stored.signed_out_at = timezone.now()
        stored.save(update_fields=["signed_out_at"])
        TokenFamily.objects.filter(user=stored).delete()
        OAuthCode.objects.filter(user=stored).delete()
        audited_events.record_sign_out(stored, method)


class SignInEnded(Exception):
    """The sign-ins of the account have ended since the request began."""


def require_not_ended(user: User) -> None:
    """Check that the account may sign in as it could when `user` was read, and keep it so until the transaction ends.

    Call it in the transaction that creates a credential. A request that somebody has begun before all sign-ins end
    would otherwise give them a credential that is not among those that end.

    Raises:
        SignInEnded: It may not.
    """
    stored = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if not stored.is_active or stored.signed_out_at != user.signed_out_at:
        raise SignInEnded


def has_ended(user: User, claims: Token | JsonObject) -> bool:
    """Return whether a token was issued before the sign-ins of its user ended. Tokens count whole seconds."""
    return user.signed_out_at is not None and int(claims.get("iat") or 0) <= user.signed_out_at.timestamp()
