"""Locks after failed sign-ins, in the admin and at POST /api/auth/token (docs/security.md)."""

from typing import Any

import pytest
from axes.models import AccessAttempt
from django.test import Client
from django.utils import timezone

from accounts.models import User
from ragsite.http.addresses import parse_address, rate_limit_key
from tests.accounts.sign_in.sign_in_requests import OTHER_IP, request_token, sign_in
from tests.support.factories import World
from tests.support.http import without_request_id


@pytest.fixture
def five_failures(staff: User) -> User:
    for _ in range(4):
        assert request_token(staff.email, "wrong").status_code == 401
    assert request_token(staff.email.upper(), "wrong").status_code == 429
    return staff


def test_five_failures_lock_the_account_for_one_ip_address(five_failures: User, world: World) -> None:
    """The lock applies to the API and the admin, to every spelling of the email and even to the right password. It
    applies neither to other IP addresses nor to other accounts."""
    locked = request_token(five_failures.email)
    assert (locked.status_code, set(locked.json())) == (429, {"error", "message", "details"})
    assert 0 < int(locked["Retry-After"]) <= 15 * 60
    page = sign_in(five_failures.email)
    assert (page.status_code, "Retry-After" in page) == (429, True)
    assert b"release the lock" in page.content
    assert request_token(five_failures.email, address=OTHER_IP).status_code == 200
    assert request_token(world.users["member"].email).status_code == 200


def test_a_lock_expires_and_is_not_prolonged_by_attempts(five_failures: User, settings: Any) -> None:
    before = AccessAttempt.objects.get().attempt_time
    request_token(five_failures.email)
    assert AccessAttempt.objects.get().attempt_time == before
    AccessAttempt.objects.update(attempt_time=timezone.now() - settings.AXES_COOLOFF_TIME)
    assert request_token(five_failures.email).status_code == 200


def test_a_successful_sign_in_resets_the_failures(staff: User) -> None:
    for _ in range(2):
        for _ in range(4):
            assert request_token(staff.email, "wrong").status_code == 401
        assert request_token(staff.email).status_code == 200


def test_an_unknown_account_locks_like_a_known_one(world: World) -> None:
    unknown = [request_token("nobody@home.example", "wrong") for _ in range(5)]
    known = [request_token(world.users["member"].email, "wrong") for _ in range(5)]
    assert [reply.status_code for reply in unknown] == [reply.status_code for reply in known]
    assert without_request_id(unknown[-1].json()) == without_request_id(known[-1].json())


def test_an_ip_address_is_locked_after_failures_with_many_accounts(world: World, settings: Any) -> None:
    settings.RAG_SIGN_IN_MAX_FAILURES_PER_IP = 6
    for number in range(5):
        assert request_token(f"somebody-{number}@home.example", "wrong").status_code == 401
    assert request_token(world.users["foreigner"].email).status_code == 200, "a success does not reset the failures"
    assert request_token("somebody-6@home.example", "wrong").status_code == 429
    assert request_token(world.users["foreigner"].email).status_code == 429
    assert request_token(world.users["foreigner"].email, address=OTHER_IP).status_code == 200


def test_headers_do_not_change_the_counted_address(staff: User) -> None:
    for number in range(5):
        headers = {"X-Forwarded-For": f"203.0.113.{number}", "User-Agent": f"browser {number}"}
        body = {"email": staff.email, "password": "wrong"}
        reply = Client().post("/api/auth/token", body, content_type="application/json", headers=headers)
    assert reply.status_code == 429


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("203.0.113.5", "203.0.113.5"),
        ("::ffff:203.0.113.5", "203.0.113.5"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("", None),
    ],
)
def test_the_address_that_failures_are_counted_for(address: str, counted: str | None) -> None:
    assert rate_limit_key(parse_address(address)) == counted


def test_an_administrator_sees_and_releases_a_lock(five_failures: User) -> None:
    root = User.objects.create_superuser("root@home.example", "x")
    client = Client()
    client.force_login(root)
    page = client.get("/admin/axes/accessattempt/").content.decode()
    assert five_failures.email in page
    assert "wrong" not in page
    form = {"action": "delete_selected", "_selected_action": AccessAttempt.objects.get().pk, "post": "yes"}
    assert client.post("/admin/axes/accessattempt/", form).status_code == 302
    assert request_token(five_failures.email).status_code == 200


def test_typed_values_are_not_stored(staff: User) -> None:
    sign_in(staff.email, "a mistyped secret", code="123456")
    row = AccessAttempt.objects.get()
    assert not any(word in f"{row.get_data} {row.post_data}" for word in ("mistyped", "123456", staff.email))


def test_a_wrong_password_is_called_wrong(staff: User) -> None:
    """Django's German text only asks to enter both, and says that upper case matters in the address."""
    wrong = {"username": staff.email, "password": "wrong"}
    refused = "Die E-Mail-Adresse oder das Passwort ist falsch"
    for address, end in (("/sign-in", "."), ("/admin/login/", ", oder dieses Konto darf die Verwaltung nicht öffnen.")):
        page = Client().post(address, wrong, HTTP_ACCEPT_LANGUAGE="de").content.decode()
        assert f"{refused}{end}" in page
