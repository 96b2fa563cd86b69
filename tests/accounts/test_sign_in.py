"""Locks after failed sign-ins, and the second factor, in the admin and at POST /api/auth/token (docs/security.md)."""

import time
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.test import Client
from django.utils import timezone
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.models import User
from accounts.sign_in import second_factor
from ragsite.http.addresses import parse_address, rate_limit_key
from tests.support.factories import PASSWORD, World
from tests.support.http import without_request_id
from tests.support.normalization import record_normalized_lengths

LOCAL_IP, OTHER_IP = "127.0.0.1", "127.0.0.2"


def request_token(email: str, password: str = PASSWORD, *, address: str = LOCAL_IP, **fields: str) -> Any:
    body = {"email": email, "password": password, **fields}
    return Client().post("/api/auth/token", body, content_type="application/json", REMOTE_ADDR=address)


def sign_in(email: str, password: str = PASSWORD, *, client: Client | None = None, **fields: str) -> Any:
    values = {"username": email, "password": password, "next": "/admin/", **fields}
    return (client or Client()).post("/admin/login/", values)


def current_totp(user: User, *, steps: int = 0) -> str:
    """The code that the authenticator app shows that many steps from now. Each code works once."""
    device = TOTPDevice.objects.get(user=user)
    totp = TOTP(device.bin_key, device.step, device.t0, device.digits)
    totp.time = time.time() + steps * device.step
    return f"{totp.token():06}"


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


# The second factor


def test_setting_up_the_second_factor(staff: User) -> None:
    client = Client()
    client.force_login(staff)
    page = client.get("/admin/second-factor/").content.decode()
    assert "data:image/svg+xml" in page
    assert "Recovery codes" not in page
    wrong = client.post("/admin/second-factor/", {"action": "confirm", "code": "000000"})
    assert not second_factor.has_second_factor(staff), wrong
    TOTPDevice.objects.update(throttling_failure_timestamp=None, throttling_failure_count=0)
    page = client.post("/admin/second-factor/", {"action": "confirm", "code": current_totp(staff)}).content.decode()
    recovery = page.partition("<pre>")[2].partition("</pre>")[0].split()
    assert len(set(recovery)) == 10
    assert not StaticToken.objects.filter(token__in=recovery).exists(), "recovery codes are stored hashed"
    reloaded = client.post("/admin/second-factor/", {"action": "confirm", "code": current_totp(staff)}).content.decode()
    assert ("is not right" in reloaded, "Its recovery codes were shown once." in reloaded) == (False, True)
    assert client.get("/admin/").status_code == 200, "this session has entered a code"
    assert TOTPDevice.objects.get().key not in client.get("/admin/second-factor/").content.decode()
    assert sign_in(staff.email, code=recovery[0]).status_code == 302
    assert sign_in(staff.email, code=recovery[0]).status_code == 200, "each code works once"


def test_an_enrolled_user_must_enter_a_code(enrolled: User) -> None:
    client = Client()
    assert b"has a second factor" in sign_in(enrolled.email, client=client).content
    assert b"This code is wrong" in sign_in(enrolled.email, client=client, code="000000").content
    assert client.get("/admin/").status_code == 302
    TOTPDevice.objects.update(throttling_failure_timestamp=None, throttling_failure_count=0)
    current_code = current_totp(enrolled)
    assert sign_in(enrolled.email, client=client, code=current_code).status_code == 302
    assert client.get("/admin/").status_code == 200
    assert b"This code is wrong" in sign_in(enrolled.email, code=current_code).content, "a code works once"


def test_a_session_without_a_code_opens_no_page(enrolled: User) -> None:
    """Such as a session that began before the second factor was set up."""
    client = Client()
    client.force_login(enrolled)
    for path in ("/admin/", "/admin/rag/datasource/", "/admin/second-factor/", "/admin/password_change/"):
        assert client.get(path).status_code == 302, path
    assert client.post("/admin/second-factor/", {"action": "remove", "code": ""}).status_code == 302
    assert second_factor.has_second_factor(enrolled)


def test_the_token_endpoint_requires_a_code(enrolled: User) -> None:
    assert request_token(enrolled.email).status_code == 401
    assert request_token(enrolled.email, code="000000").status_code == 401
    TOTPDevice.objects.update(throttling_failure_timestamp=None, throttling_failure_count=0)
    assert set(request_token(enrolled.email, code=current_totp(enrolled)).json()) == {"access", "refresh"}


def test_wrong_codes_lock_the_account_like_wrong_passwords(enrolled: User, settings: Any) -> None:
    settings.OTP_TOTP_THROTTLE_FACTOR = 3_600  # seconds after the first failure: the requests take less
    replies = [request_token(enrolled.email, code="000000").status_code for _ in range(5)]
    assert replies == [401, 401, 401, 401, 429]
    assert TOTPDevice.objects.get().throttling_failure_count == 1, "further codes are throttled and not checked"


def test_a_required_second_factor_must_be_set_up_first(staff: User, settings: Any) -> None:
    settings.RAG_STAFF_OTP = "required"
    client = Client()
    assert sign_in(staff.email, client=client).status_code == 302
    for path in ("/admin/", "/admin/rag/datasource/", "/admin/jsi18n/"):
        assert client.get(path, follow=True).request["PATH_INFO"] == "/admin/second-factor/", path
    assert request_token(staff.email).status_code == 403
    confirmation = client.post("/admin/second-factor/", {"action": "confirm", "code": current_totp(staff)})
    assert (confirmation.status_code, client.get("/admin/").status_code) == (200, 200)


def test_nobody_needs_a_code_if_the_second_factor_is_off(enrolled: User, settings: Any) -> None:
    settings.RAG_STAFF_OTP = "off"
    client = Client()
    assert sign_in(enrolled.email, client=client).status_code == 302
    assert client.get("/admin/").status_code == 200
    assert client.get("/admin/second-factor/").status_code == 404
    assert request_token(enrolled.email).status_code == 200


def test_only_a_superuser_removes_a_lost_device(enrolled: User) -> None:
    root = User.objects.create_superuser("root@home.example", "x")
    other = User.objects.create_user("other@home.example", "x", is_staff=True)
    form = {"action": "remove_second_factor", "_selected_action": str(enrolled.pk)}
    for user, is_enrolled in ((other, True), (root, False)):
        client = Client()
        client.force_login(user)
        client.post("/admin/accounts/user/", form)
        assert second_factor.has_second_factor(enrolled) == is_enrolled
    assert sign_in(enrolled.email).status_code == 302


def test_removing_ones_own_device_requires_a_code(enrolled: User) -> None:
    client = Client()
    sign_in(enrolled.email, client=client, code=current_totp(enrolled))
    client.post("/admin/second-factor/", {"action": "remove", "code": "000000"})
    assert second_factor.has_second_factor(enrolled)
    TOTPDevice.objects.update(throttling_failure_timestamp=None, throttling_failure_count=0)
    client.post("/admin/second-factor/", {"action": "remove", "code": current_totp(enrolled, steps=1)})
    assert not second_factor.has_second_factor(enrolled)


def test_no_page_shows_authenticator_keys(enrolled: User) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root@home.example", "x"))
    assert client.get("/admin/otp_totp/totpdevice/").status_code == 404
    key = TOTPDevice.objects.get().key
    assert key not in client.get(f"/admin/accounts/user/{enrolled.pk}/change/").content.decode()


# Email addresses and passwords


@pytest.mark.parametrize(
    "spelling",
    ["Owner@Home.example", " owner@home.example", "ｏwner@home.example", "owner@ｈome.example", "owner@home。example"],
)
def test_email_addresses_are_normalised(world: World, spelling: str) -> None:
    assert User.objects.normalize_email(spelling) == "owner@home.example"
    assert request_token(spelling).status_code == 200


@pytest.mark.parametrize(
    "spelling",
    [
        *("оwner@home.example", "ow\u200bner@home.example", "owner\u202e@home.example", "ownér@x.y"),
        *("a@abroad.example,owner@home.example", '"a@abroad.example"@home.example'),
    ],
)
def test_email_addresses_that_could_be_read_as_another_one_are_rejected(world: World, spelling: str) -> None:
    """A Cyrillic о, a zero-width space, a right-to-left override, an accent, a list, and a quoted address."""
    with pytest.raises(ValueError, match="Latin letters"):
        User.objects.create_user(spelling, "x")
    client = Client()
    client.force_login(User.objects.create_superuser("root@home.example", "x"))
    values = {"email": spelling, "usable_password": "false"}
    assert client.post("/admin/accounts/user/add/", values).status_code == 200
    assert not User.objects.filter(email=User.objects.normalize_email(spelling)).exists()


def test_no_long_text_is_normalised(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """54 KB of combining characters took ten seconds, in which the process answered no other request."""
    lengths = record_normalized_lengths(monkeypatch)
    typed = "a" + "\u0315\u0300" * 1_000 + "@home.example"
    statuses = [Client().post("/sign-in", {"username": typed, "password": "x"}).status_code, sign_in(typed).status_code]
    assert (statuses, request_token(typed).status_code, max(lengths) <= 1_000) == ([200, 200], 400, True)
    with pytest.raises(ValueError, match="needs an e-mail address"):
        User.objects.create_user("a" * 1_000 + "@home.example")


def test_a_domain_in_another_script_is_stored_in_punycode(world: World) -> None:
    assert User.objects.create_user("owner@hоme.example", "x").email == "owner@xn--hme-sed.example"


@pytest.mark.parametrize(
    ("written", "stored"), [("straße.example", "xn--strae-oqa.example"), ("σας.example", "xn--mxa8ab.example")]
)
def test_an_address_never_becomes_one_of_another_domain(world: World, written: str, stored: str) -> None:
    """By the rules of 2003 they were strasse.example and σασ.example, which somebody else may own."""
    assert User.objects.create_user(f"owner@{written}", "x").email == f"owner@{stored}"


def test_an_invisible_character_in_a_domain_makes_an_address_invalid(world: World) -> None:
    with pytest.raises(ValueError, match="Latin letters"):
        User.objects.create_user("owner@home\u200d.example", "x")


def test_every_form_that_sets_a_password_validates_it(world: World) -> None:
    root = User.objects.create_superuser("root@home.example", "x")
    client = Client()
    client.force_login(root)
    weak = {"password1": "12345678", "password2": "12345678", "new_password1": "12345678", "new_password2": "12345678"}
    pages = ("/admin/accounts/user/add/", f"/admin/accounts/user/{root.pk}/password/", "/account/password")
    for page in pages:
        values = {"email": "new@home.example", "usable_password": "true", "old_password": "x", **weak}
        reply = client.post(page, values)
        assert (reply.status_code, b"entirely numeric" in reply.content) == (200, True), page
