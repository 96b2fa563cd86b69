"""Signing in: a JWT pair for an e-mail address and a password, refreshed with rotation, revocable."""

from typing import Any

from django.db import transaction
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.views import APIView
from rest_framework_simplejwt.exceptions import InvalidToken
from rest_framework_simplejwt.serializers import (
    TokenObtainPairSerializer,
    TokenRefreshSerializer,
    TokenVerifySerializer,
)
from rest_framework_simplejwt.token_blacklist.models import OutstandingToken
from rest_framework_simplejwt.tokens import UntypedToken
from rest_framework_simplejwt.views import (
    TokenBlacklistView,
    TokenObtainPairView,
    TokenRefreshView,
    TokenVerifyView,
)

from .authentication import AccessTokenAuthentication, refuse_clear_text
from .parsers import CredentialsParser


class Credentials(TokenObtainPairSerializer):
    """`{"email", "password"}` → `{"access", "refresh"}`. The same 401 whether the address or the password is wrong."""

    default_error_messages = {"no_active_account": "No active account has this e-mail address and password."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"] = serializers.CharField(write_only=True, max_length=254)
        self.fields["password"] = serializers.CharField(write_only=True, max_length=1024, trim_whitespace=False)


class Rotation(TokenRefreshSerializer):
    """`{"refresh"}` → a new pair; the old refresh token works exactly once, also when sent twice at the same moment."""

    @transaction.atomic
    def validate(self, attrs: dict[str, Any]) -> dict[str, str]:
        token = self.token_class(attrs["refresh"])
        list(OutstandingToken.objects.select_for_update(of=("self",)).filter(jti=token["jti"]))
        AccessTokenAuthentication().get_user(token)  # exists, is active, and has not changed the password
        return super().validate(attrs)  # reads the blacklist again, now behind the lock


class Verification(TokenVerifySerializer):
    """`{"token"}`: 401 unless the token would be accepted now, as an access or as a refresh token."""

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        AccessTokenAuthentication().get_user(UntypedToken(attrs["token"]))
        try:
            return super().validate(attrs)
        except serializers.ValidationError:  # blacklisted
            raise InvalidToken("This token was revoked.") from None


class CredentialsView(APIView):
    """Passwords and refresh tokens are credentials too (accounts.authentication), and short."""

    parser_classes = (CredentialsParser,)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        refuse_clear_text(request)
        super().initial(request, *args, **kwargs)


class ObtainToken(CredentialsView, TokenObtainPairView):
    serializer_class = Credentials


class RefreshToken(CredentialsView, TokenRefreshView):
    serializer_class = Rotation


class VerifyToken(CredentialsView, TokenVerifyView):
    """`{"token"}` → 200 with `{}` while the token is valid, else 401."""

    serializer_class = Verification


class RevokeToken(CredentialsView, TokenBlacklistView):
    """`{"refresh"}` → 200 with `{}`; the refresh token is worth nothing from now on."""
