"""Authentication by access token, which POST /api/auth/token issues (docs/contracts/authentication.md)."""

import uuid

from django.db import DEFAULT_DB_ALIAS
from rest_framework.request import Request
from rest_framework_simplejwt.authentication import JWTAuthentication
from rest_framework_simplejwt.exceptions import AuthenticationFailed, InvalidToken
from rest_framework_simplejwt.settings import api_settings
from rest_framework_simplejwt.tokens import Token

from accounts.models import User
from accounts.sign_out_everywhere import has_ended
from orgs.access.caller import Caller
from ragsite.http.require_https import require_https
from ragsite.postgres import identity
from ragsite.postgres.base import read_rows
from ragsite.postgres.models import as_uuid

from .base import authenticated

# Without the password, which only sign-in may read.
_NAMES = [field.attname for field in User._meta.concrete_fields if field.attname != "password"]
# Composing this statement with Django takes longer than executing it.
_READ = f"SELECT {', '.join(_NAMES)} FROM {User._meta.db_table} WHERE id = %s"


class AccessTokenAuthentication(JWTAuthentication):
    """`Authorization: Bearer <JWT>`. A token that was sent over plain HTTP is refused."""

    # Returns the caller where the base class returns the token.
    def authenticate(self, request: Request) -> tuple[User, Caller] | None:  # type: ignore[override]
        authentication = super().authenticate(request)
        if authentication is None:
            return None
        require_https(request)
        user, _ = authentication
        assert isinstance(user, User)
        return authenticated(Caller(user))

    def get_raw_token(self, header: bytes) -> bytes | None:
        """Return the token. The name of the scheme may be in any case (RFC 9110, section 11.1)."""
        kind, _, token = header.partition(b" ")
        raw_token: bytes | None = super().get_raw_token(b"Bearer " + token if kind.lower() == b"bearer" else header)
        return raw_token

    def get_user(self, validated_token: Token) -> User:  # type: ignore[override]
        user_id = as_uuid(str(validated_token.get(api_settings.USER_ID_CLAIM, "")))
        user = _read_account(user_id) if user_id else None
        if user is None:
            raise AuthenticationFailed("User not found", code="user_not_found")
        if not user.is_active:
            raise AuthenticationFailed("User is inactive", code="user_inactive")
        if validated_token.get(api_settings.REVOKE_TOKEN_CLAIM) != user.password_digest:
            raise AuthenticationFailed("The user's password has been changed.", code="password_changed")
        if has_ended(user, validated_token):
            raise AuthenticationFailed("The user has signed out.", code="signed_out")
        return user

    def get_validated_token(self, raw_token: bytes) -> Token:
        try:
            return super().get_validated_token(raw_token)
        except InvalidToken:
            raise InvalidToken(
                "This access token is invalid or expired. Get a new one from POST /api/auth/token, "
                "or from POST /api/auth/token/refresh with your refresh token."
            ) from None


def _read_account(user_id: uuid.UUID) -> User | None:
    """Return the account, read with its own database identity; None if it does not exist."""
    with identity.run_as(identity.of_user(user_id)):
        rows = read_rows(_READ, [user_id])
    return User.from_db(DEFAULT_DB_ALIAS, _NAMES, rows[0]) if rows else None
