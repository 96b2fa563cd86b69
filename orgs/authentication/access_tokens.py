"""Authentication by access token, which POST /api/auth/token issues (docs/contracts/authentication.md)."""

from rest_framework.request import Request
from rest_framework_simplejwt.authentication import JWTAuthentication
from rest_framework_simplejwt.exceptions import InvalidToken
from rest_framework_simplejwt.tokens import Token

from accounts.models import User
from orgs.access.caller import Caller
from ragsite.http.transport import require_https

from .base import authenticated


class AccessTokenAuthentication(JWTAuthentication):
    """`Authorization: Bearer <JWT>`. A token that was sent over plain HTTP is refused."""

    def authenticate(self, request: Request) -> tuple[User, Caller] | None:  # type: ignore[override]
        authentication = super().authenticate(request)
        if authentication is None:
            return None
        require_https(request)
        user, _ = authentication
        assert isinstance(user, User)
        return authenticated(Caller(user))

    def get_validated_token(self, raw_token: bytes) -> Token:
        try:
            return super().get_validated_token(raw_token)
        except InvalidToken:
            raise InvalidToken(
                "This access token is invalid or expired. Get a new one from POST /api/auth/token, "
                "or from POST /api/auth/token/refresh with your refresh token."
            ) from None
