"""The keys of access tokens. One key signs; earlier keys stay valid until the tokens that they signed have expired."""

import hashlib
from typing import Any

import jwt
from rest_framework_simplejwt.backends import TokenBackend
from rest_framework_simplejwt.exceptions import TokenBackendError, TokenBackendExpiredToken
from rest_framework_simplejwt.settings import APISettings


class MultiKeyTokenBackend(TokenBackend):
    """Signs and verifies tokens with HS256 only, whatever algorithm a token names.

    Every token names its key (`kid`). A token with an unknown `kid` is rejected; no other key is tried.
    """

    def __init__(self, jwt_settings: APISettings, old_keys: list[str]) -> None:
        super().__init__(
            "HS256",
            jwt_settings.SIGNING_KEY,
            audience=jwt_settings.AUDIENCE,
            issuer=jwt_settings.ISSUER,
            leeway=jwt_settings.LEEWAY,
        )
        self._current = key_id(jwt_settings.SIGNING_KEY)
        self._keys = {key_id(key): key for key in [*old_keys, jwt_settings.SIGNING_KEY]}

    def encode(self, payload: dict[str, object]) -> str:
        claims = {**payload, "aud": self.audience, "iss": self.issuer}
        return jwt.encode(claims, self._keys[self._current], algorithm="HS256", headers={"kid": self._current})

    def decode(self, token: Any, verify: bool = True) -> dict[str, object]:
        try:
            key = self._keys.get(str(jwt.get_unverified_header(token).get("kid")))
            if key is None:
                raise TokenBackendError("Token is invalid")
            return jwt.decode(
                token,
                key,
                algorithms=["HS256"],
                audience=self.audience,
                issuer=self.issuer,
                leeway=self.get_leeway(),
                options={"verify_signature": verify, "require": ["exp", "iat", "jti", "aud", "iss"]},
            )
        except jwt.ExpiredSignatureError as error:
            raise TokenBackendExpiredToken("Token is expired") from error
        except jwt.InvalidTokenError as error:
            raise TokenBackendError("Token is invalid") from error


def key_id(key: str) -> str:
    """Return the `kid` of a key: a hash, which does not reveal the key."""
    return hashlib.sha256(b"ragsite key id\0" + key.encode()).hexdigest()[:16]
