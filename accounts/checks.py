"""What `manage.py check --deploy` says of our own secrets."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register

# HMAC-SHA256 keys are to be as long as its output (RFC 7518, 3.2).
_LEAST_BYTES = 32
_LEAST_CHARACTERS = 8


@register(Tags.security, deploy=True)
def check_secret_strength(**_: Any) -> list[CheckMessage]:
    keys = {"SECRET_KEY": [settings.SECRET_KEY], "RAG_JWT_SIGNING_KEY": [settings.SIMPLE_JWT["SIGNING_KEY"]]}
    keys["RAG_JWT_OLD_SIGNING_KEYS"] = settings.RAG_JWT_OLD_SIGNING_KEYS
    return [
        Error(
            f"{name} is weak: sessions and tokens can be forged by whoever guesses it.",
            hint="Make one: python -c 'import secrets; print(secrets.token_urlsafe(64))'",
            id="ragsite.E001",
        )
        for name, values in keys.items()
        if any(len(value.encode()) < _LEAST_BYTES or len(set(value)) < _LEAST_CHARACTERS for value in values)
    ]
