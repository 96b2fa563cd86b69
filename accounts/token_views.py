"""/api/auth/token: users sign in and out, and exchange, verify and revoke their tokens (JWT)."""

from typing import TypedDict

from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.db import transaction
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework_simplejwt.authentication import JWTAuthentication
from rest_framework_simplejwt.exceptions import InvalidToken
from rest_framework_simplejwt.serializers import (
    TokenBlacklistSerializer,
    TokenObtainPairSerializer,
    TokenObtainSerializer,
    TokenRefreshSerializer,
    TokenVerifySerializer,
)
from rest_framework_simplejwt.tokens import Token, UntypedToken
from rest_framework_simplejwt.views import (
    TokenBlacklistView,
    TokenObtainPairView,
    TokenRefreshView,
    TokenVerifyView,
)

from ragsite.http import strict_fields
from ragsite.http.bodies.parsers import CredentialsParser
from ragsite.http.openapi import request_example, response_example
from ragsite.http.request_warnings import UnknownFieldWarnings
from ragsite.http.require_https import require_https
from ragsite.http.strict_fields import ValidatedFields
from ragsite.postgres import identity

from .models import MAX_EMAIL_CHARACTERS, User
from .sign_in import known_devices, lockout, password_backend, refresh_tokens, second_factor
from .sign_in.refresh_tokens import RefreshToken
from .sign_out_everywhere import SignInEnded, has_ended, require_not_ended

MAX_TOKEN_LENGTH = 8_192
_ENDED = "This refresh token was used already, or its sign-in has ended. Sign in again."


class Credentials(UnknownFieldWarnings, TokenObtainPairSerializer):
    """Exchanges an address, a password and, with a second factor, a code for a token pair.

    A wrong address and a wrong password cause the same 401. After too many failures the response is 429 with
    Retry-After (accounts.sign_in.lockout).
    """

    default_error_messages = {"no_active_account": "No active account has this e-mail address and password."}

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"] = strict_fields.Text("email", write_only=True, max_length=MAX_EMAIL_CHARACTERS)
        self.fields["password"] = strict_fields.Text("password", write_only=True, max_length=1024)
        code = strict_fields.Text(
            "code", write_only=True, max_length=second_factor.MAX_CODE_LENGTH, required=False, allow_blank=True
        )
        self.fields["code"] = code

    def validate(self, attrs: ValidatedFields) -> dict[str, str]:
        request, code = self.context["request"], attrs.pop("code", "")
        try:
            TokenObtainSerializer.validate(self, attrs)
        except AuthenticationFailed:
            lockout.require_unlocked(request, attrs["email"])
            raise
        user = self.user
        assert isinstance(user, User)
        _require_second_factor(request, user, code)
        user_logged_in.send(User, request=request, user=user)
        try:
            with transaction.atomic():
                require_not_ended(user)
                refresh = refresh_tokens.issue(user)
        except SignInEnded:
            raise AuthenticationFailed(self.error_messages["no_active_account"], "no_active_account") from None
        return {"refresh": str(refresh), "access": str(refresh.access_token)}


def _require_second_factor(request: Request, user: User, code: str) -> None:
    if second_factor.must_enrol(user):
        raise PermissionDenied("This account needs a second factor: sign in to the admin and set it up there.")
    if not second_factor.is_required_to_sign_in(user):
        return
    if not code:
        raise AuthenticationFailed(f"{second_factor.CODE_REQUIRED} It goes into the field `code`.")
    if second_factor.verify(user, code) is None:
        user_login_failed.send(__name__, credentials={"email": user.email}, request=request)
        lockout.require_unlocked(request, user.email)
        raise AuthenticationFailed(second_factor.WRONG_CODE)


def _user_of(token: Token) -> User:
    """Return the user of a token.

    Fails if the user is gone or inactive, the password has changed, or all sign-ins have ended.
    """
    user = JWTAuthentication().get_user(token)
    assert isinstance(user, User)
    if has_ended(user, token):
        raise InvalidToken(_ENDED)
    return user


class Rotation(UnknownFieldWarnings, TokenRefreshSerializer):
    """Exchanges a refresh token for a new pair. A refresh token works exactly once, even in concurrent requests."""

    refresh = strict_fields.Text("refresh", max_length=MAX_TOKEN_LENGTH)

    def validate(self, attrs: ValidatedFields) -> dict[str, str]:
        token = RefreshToken(attrs["refresh"])
        user = _user_of(token)
        successor = refresh_tokens.exchange(token) if password_backend.may_use_password(user) else None
        if successor is None:
            raise InvalidToken(_ENDED)
        return {"refresh": str(successor), "access": str(successor.access_token)}


class Verification(UnknownFieldWarnings, TokenVerifySerializer):
    """Accepts a valid access or refresh token. The response is 401 for any other."""

    token = strict_fields.Text("token", max_length=MAX_TOKEN_LENGTH)

    def validate(self, attrs: ValidatedFields) -> ValidatedFields:
        token = UntypedToken(attrs["token"])
        user = _user_of(token)
        if token["token_type"] == RefreshToken.token_type and not (
            password_backend.may_use_password(user) and refresh_tokens.is_newest(token)
        ):
            raise InvalidToken(_ENDED)
        return {}


class Revocation(UnknownFieldWarnings, TokenBlacklistSerializer):
    """Ends the sign-in of a refresh token. A sign-in that has ended already is not an error."""

    refresh = strict_fields.Text("refresh", max_length=MAX_TOKEN_LENGTH)

    def validate(self, attrs: ValidatedFields) -> ValidatedFields:
        refresh_tokens.sign_out(RefreshToken(attrs["refresh"]))
        return {}


class CredentialsView(APIView):
    """Base of the token endpoints: their bodies contain credentials, so they require HTTPS and limit the size."""

    parser_classes = (CredentialsParser,)

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        require_https(request)
        identity.set_current(identity.SIGN_IN)
        super().initial(request, *args, **kwargs)


class TokenPair(TypedDict):
    """Two JWTs: `access` authenticates requests and is short-lived; `refresh` is exchanged once for a new pair."""

    access: str
    refresh: str


class Nothing(TypedDict):
    """An empty object."""


_REFRESH = {"refresh": "eyJhbGciOiJIUzI1NiJ9.eyJ0b2tlbl90eXBlIjoicmVmcmVzaCJ9.9s3x"}
_PAIR = {"access": "eyJhbGciOiJIUzI1NiJ9.eyJ0b2tlbl90eXBlIjoiYWNjZXNzIn0.kq0b", **_REFRESH}


@extend_schema_view(
    post=extend_schema(
        operation_id="obtainToken",
        summary="Sign in",
        description=(
            "Send an e-mail address and a password, and the `code` of the second factor if the account has one. A "
            "wrong address and a wrong password cause the same 401. After too many failures the response is 429 with "
            "`Retry-After`. While many people sign in at once it is 503 with `Retry-After`. A success sets a cookie: "
            "locks of the network address do not apply to this device. The cookie is not a credential."
        ),
        request=Credentials,
        responses={200: TokenPair},
        examples=[
            request_example({"email": "editor@acme.example", "password": "ragsite-demo"}),
            response_example(_PAIR),
        ],
    )
)
class ObtainToken(CredentialsView, TokenObtainPairView):
    serializer_class = Credentials

    def post(self, request: Request, *args: object, **kwargs: object) -> Response:
        credentials = Credentials(data=request.data, context=self.get_serializer_context())
        credentials.is_valid(raise_exception=True)
        response = Response(credentials.validated_data)
        assert credentials.user is not None
        known_devices.remember(response, credentials.user)
        return response


@extend_schema_view(
    post=extend_schema(
        operation_id="refreshToken",
        summary="Exchange a refresh token for a new pair",
        description="Each refresh token works exactly once. If one is sent again, all tokens of its sign-in end.",
        request=Rotation,
        responses={200: TokenPair},
        examples=[request_example(_REFRESH), response_example(_PAIR)],
    )
)
class RotateToken(CredentialsView, TokenRefreshView):
    serializer_class = Rotation


@extend_schema_view(
    post=extend_schema(
        operation_id="verifyToken",
        summary="Check whether a token is valid",
        description="200 if the token is a valid access or refresh token, otherwise 401.",
        request=Verification,
        responses={200: Nothing},
        examples=[request_example({"token": _PAIR["access"]}), response_example({})],
    )
)
class VerifyToken(CredentialsView, TokenVerifyView):
    serializer_class = Verification


@extend_schema_view(
    post=extend_schema(
        operation_id="revokeToken",
        summary="Sign out",
        description="Ends the sign-in: its refresh tokens are no longer valid. Signing out twice is not an error.",
        request=Revocation,
        responses={200: Nothing},
        examples=[request_example(_REFRESH), response_example({})],
    )
)
class RevokeToken(CredentialsView, TokenBlacklistView):
    serializer_class = Revocation
