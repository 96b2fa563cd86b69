"""Secrets are readable for the purpose for which they were encrypted, and for no other one."""

import base64
import hashlib
import hmac
from typing import Any

import pytest
from cryptography.fernet import Fernet

from ragsite.postgres.encryption import Purpose, UnreadableSecret, decrypt, encrypt


@pytest.mark.parametrize("purpose", Purpose)
def test_a_secret_is_read_for_its_purpose_only(settings: Any, purpose: Purpose) -> None:
    token = encrypt("secret", purpose)
    assert decrypt(token, purpose) == "secret"
    for other in set(Purpose) - {purpose}:
        with pytest.raises(UnreadableSecret):
            decrypt(token, other)
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "x" * 50
    assert decrypt(token, purpose) == "secret", "after SECRET_KEY was replaced"


def test_secrets_that_were_stored_before_purposes_stay_readable(settings: Any) -> None:
    settings.SECRET_KEY = "x" * 50
    digest = hmac.new(b"x" * 50, b"ragsite: secrets in the database", hashlib.sha256).digest()
    token = Fernet(base64.urlsafe_b64encode(digest)).encrypt(b"secret").decode()
    assert [decrypt(token, purpose) for purpose in (Purpose.WEBHOOK, Purpose.IDENTITY_PROVIDER)] == ["secret"] * 2
    with pytest.raises(UnreadableSecret):
        decrypt(token, Purpose.SIGN_IN_COOKIE)
