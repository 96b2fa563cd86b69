"""Refresh tokens. Each works once, and only identifiers of them are stored.

All tokens that descend from one sign-in are a family. Only the newest one is valid. If an earlier one is used,
two parties have a copy and one of them has stolen it, so the whole family ends (RFC 9700, section 4.14.2).
"""

import copy
import uuid
from typing import Any

from django.db import transaction
from rest_framework_simplejwt.tokens import RefreshToken as LibraryToken
from rest_framework_simplejwt.tokens import Token
from rest_framework_simplejwt.utils import datetime_from_epoch

from accounts import audited_events
from accounts.models import TokenFamily, User
from ragsite.postgres.models import as_uuid

# The claim of the family's id, which is the id of its first token. The first token does not have the claim.
_FAMILY = "family"


class RefreshToken(LibraryToken):
    """A refresh token whose access token does not name the family."""

    no_copy_claims: Any = (*LibraryToken.no_copy_claims, _FAMILY)


def issue(user: User) -> LibraryToken:
    """Start a family: the refresh token of a sign-in."""
    token = RefreshToken.for_user(user)
    jti = uuid.UUID(token["jti"])
    expires_at = datetime_from_epoch(token["exp"])
    TokenFamily.objects.create(pk=jti, user=user, newest_token=jti, expires_at=expires_at)
    return token


@transaction.atomic
def exchange(token: RefreshToken) -> RefreshToken | None:
    """Return the token's successor; None if the token was used already, or its family has ended."""
    family = use(_family_id(token), as_uuid(str(token["jti"])))
    if family is None:
        return None
    successor = copy.deepcopy(token)
    successor[_FAMILY] = family.pk.hex
    successor.set_jti()
    successor.set_exp()
    successor.set_iat()
    family.newest_token, family.expires_at = uuid.UUID(successor["jti"]), datetime_from_epoch(successor["exp"])
    family.save(update_fields=["newest_token", "expires_at"])
    return successor


@transaction.atomic
def sign_out(token: RefreshToken) -> None:
    """End the token's family and record it. Does nothing if it has ended already (RFC 7009, section 2.2)."""
    if family := use(_family_id(token), as_uuid(str(token["jti"]))):
        family.delete()
        audited_events.record_sign_out(family.user, "token")


def is_newest(token: Token) -> bool:
    """Return whether this refresh token is the newest of its family. Does not use it."""
    family_id, token_id = _family_id(token), as_uuid(str(token["jti"]))
    if family_id is None or token_id is None:
        return False
    return TokenFamily.objects.filter(pk=family_id, newest_token=token_id).exists()


def use(family_id: uuid.UUID | None, token_id: uuid.UUID | None) -> TokenFamily | None:
    """Lock the family until the end of the transaction.

    If this is not its newest token, end it and record the reuse. The calling code must not roll this back.
    """
    if family_id is None:
        return None
    families = TokenFamily.objects.select_for_update(of=("self",)).select_related("user")
    family = families.filter(pk=family_id).first()
    if family and family.newest_token != token_id:
        family.delete()
        audited_events.record_token_reuse(family.user)
        return None
    return family


def _family_id(token: Token) -> uuid.UUID | None:
    """Return the id of the token's family. None if the claim is not an id."""
    return as_uuid(str(token.get(_FAMILY, token["jti"])))
