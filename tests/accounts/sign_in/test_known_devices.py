"""Known devices: a lock of their network address does not lock their owners out (docs/security.md)."""

from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.core import signing
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from accounts.sign_in import known_devices
from tests.accounts.sign_in.sign_in_requests import sign_in
from tests.support.factories import PASSWORD, World

ADDRESS, OTHER_ADDRESS = "192.0.2.7", "192.0.2.8"


def request_token(client: Client, email: str, password: str = PASSWORD, address: str = ADDRESS) -> Any:
    body = {"email": email, "password": password}
    return client.post("/api/auth/token", body, "application/json", REMOTE_ADDR=address, secure=True)


def statuses(client: Client, email: str, password: str, times: int, address: str = ADDRESS) -> list[int]:
    return [request_token(client, email, password, address).status_code for _ in range(times)]


@pytest.fixture
def device(staff: User) -> Client:
    """The owner's device, known from a sign-in at another address."""
    client = Client()
    assert request_token(client, staff.email, address=OTHER_ADDRESS).status_code == 200
    return client


@pytest.fixture
def locked(device: Client, settings: Any) -> None:
    """An attacker behind the same address has failed for many accounts, and five times for the owner's."""
    settings.RAG_SIGN_IN_MAX_FAILURES_PER_IP = 8
    assert statuses(Client(), "owner@home.example", "wrong", 5)[-1] == 429
    assert statuses(Client(), "nobody@home.example", "wrong", 3)[-1] == 429
    assert request_token(Client(), "somebody@home.example").status_code == 429


def test_the_cookie_is_for_this_server_and_https_only(staff: User, settings: Any) -> None:
    settings.SESSION_COOKIE_SECURE = True
    device = Client()
    request_token(device, staff.email)
    cookie = device.cookies[known_devices.COOKIE]
    assert (cookie["httponly"], cookie["secure"], cookie["samesite"]) == (True, True, "Strict")
    assert 0 < int(cookie["max-age"]) <= 90 * 86_400
    assert "owner" not in cookie.value


def test_a_known_device_signs_in_from_a_locked_address(locked: None, device: Client, staff: User) -> None:
    assert request_token(Client(), staff.email).status_code == 429
    assert request_token(device, staff.email).status_code == 200
    page = Client()
    page.cookies = device.cookies
    assert page.post("/admin/login/", {"username": staff.email, "password": PASSWORD}).status_code == 302


def test_the_admin_remembers_the_device_too(locked: None, staff: User) -> None:
    browser = Client()
    assert sign_in(staff.email, "wrong", client=browser).status_code == 200
    assert known_devices.COOKIE not in browser.cookies
    assert sign_in(staff.email, client=browser).status_code == 302
    assert request_token(browser, staff.email).status_code == 200


def test_each_sign_in_renews_the_cookie(device: Client, staff: User) -> None:
    before = device.cookies[known_devices.COOKIE].value
    request_token(device, staff.email)
    assert device.cookies[known_devices.COOKIE].value != before


def test_a_failed_sign_in_remembers_nothing(world: World) -> None:
    client = Client()
    request_token(client, world.users["member"].email, "wrong")
    assert known_devices.COOKIE not in client.cookies


def test_a_device_is_known_for_its_account_only(locked: None, device: Client, world: World) -> None:
    for email in (world.users["member"].email, "somebody@home.example"):
        assert request_token(device, email).status_code == 429


def test_an_address_that_looks_like_a_device_is_none(locked: None, staff: User) -> None:
    for suffix in (" on the known device ", " on the known device x", " on the known on the known device  device x"):
        assert request_token(Client(), staff.email + suffix).status_code == 429


def test_a_known_device_has_five_failures_of_its_own(locked: None, device: Client, staff: User) -> None:
    """They count together when the device changes its address."""
    assert statuses(device, staff.email, "wrong", 4) == [401] * 4
    assert request_token(device, staff.email, "wrong", OTHER_ADDRESS).status_code == 429
    reply = request_token(device, staff.email, address=OTHER_ADDRESS)
    assert (reply.status_code, 0 < int(reply["Retry-After"]) <= 15 * 60) == (429, True)
    assert request_token(Client(), staff.email, address=OTHER_ADDRESS).status_code == 200, "others are not affected"
    AccessAttempt.objects.filter(username__contains="device").update(attempt_time=timezone.now() - timedelta(hours=1))
    assert request_token(device, staff.email).status_code == 200


def test_a_success_resets_the_failures_of_the_device_only(locked: None, device: Client, staff: User) -> None:
    for _ in range(2):
        assert statuses(device, staff.email, "wrong", 4) == [401] * 4
        assert request_token(device, staff.email).status_code == 200
    assert request_token(Client(), staff.email).status_code == 429


def test_a_new_password_forgets_the_devices(locked: None, device: Client, staff: User) -> None:
    staff.set_password("another good one")
    staff.save()
    assert request_token(device, staff.email, "another good one").status_code == 429


def test_an_inactive_account_has_no_known_devices(locked: None, device: Client, staff: User) -> None:
    staff.is_active = False
    staff.save()
    assert request_token(device, staff.email).status_code == 429


def test_forged_and_old_cookies_are_ignored(
    locked: None,
    device: Client,
    staff: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    value = device.cookies[known_devices.COOKIE].value
    forged = signing.dumps([str(staff.pk), "device", ""], salt=known_devices.COOKIE)
    for cookie in ("", "x", "a:b:c", value[:-2] + "xx", forged, value.swapcase(), "\x00", "\xf0\x9f"):
        client = Client()
        client.cookies[known_devices.COOKIE] = cookie
        assert request_token(client, staff.email).status_code == 429, cookie
    monkeypatch.setattr(known_devices, "_LIFETIME", timedelta(seconds=-1))
    assert request_token(device, staff.email).status_code == 429


def test_the_second_factor_is_needed_on_a_known_device_too(locked: None, device: Client, enrolled: User) -> None:
    assert request_token(device, enrolled.email).status_code == 401


def test_a_sign_in_without_its_code_is_not_remembered(enrolled: User) -> None:
    client = Client()
    assert request_token(client, enrolled.email).status_code == 401
    assert known_devices.COOKIE not in client.cookies


def test_a_cookie_does_not_reveal_whether_an_account_exists(device: Client, world: World) -> None:
    """A device sends the same statements, and gets the same answer, for somebody else's account and for none."""
    counts, bodies = [], []
    for email in (world.users["member"].email, "nobody@home.example"):
        with CaptureQueriesContext(connection) as queries:
            reply = request_token(device, email, "wrong")
        counts.append(len([query for query in queries if "SELECT" in query["sql"] and "accounts_user" in query["sql"]]))
        bodies.append((reply.status_code, reply.json().keys(), reply.json()["error"], reply.json()["message"]))
    assert bodies[0] == bodies[1]
    assert counts[0] - counts[1] in (0, 1), "only the password of an existing account is read"
