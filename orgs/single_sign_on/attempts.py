"""Sign-ins that have begun: the browser keeps what has to come back from the provider, in an encrypted cookie."""

import dataclasses
import json
import secrets
from dataclasses import dataclass, field

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from ragsite.postgres import encryption

_COOKIE = "sign_in_attempt"
_MAX_AGE_SECONDS = 600


@dataclass(frozen=True, slots=True)
class SignInAttempt:
    """What has to come back from the provider."""

    provider_id: str
    next_url: str
    state: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))


def remember(response: HttpResponse, request: HttpRequest, attempt: SignInAttempt) -> None:
    """Store the attempt in the browser that makes it, so that no other one can complete it."""
    response.set_cookie(
        _COOKIE,
        encryption.encrypt(json.dumps(dataclasses.asdict(attempt)), encryption.Purpose.SIGN_IN_COOKIE),
        max_age=_MAX_AGE_SECONDS,
        path=_path(),
        secure=request.is_secure(),
        httponly=True,
        samesite="Lax",
    )


def read(request: HttpRequest) -> SignInAttempt | None:
    """Return the attempt of this browser; None if there is none, or it is too old."""
    try:
        content = encryption.decrypt(
            request.COOKIES.get(_COOKIE, ""), encryption.Purpose.SIGN_IN_COOKIE, max_age_seconds=_MAX_AGE_SECONDS
        )
    except encryption.UnreadableSecret:
        return None
    return SignInAttempt(**json.loads(content))


def clear(response: HttpResponse) -> None:
    """Remove the attempt from the browser: it can be completed once."""
    response.delete_cookie(_COOKIE, path=_path())


def _path() -> str:
    return reverse("sign_in")
