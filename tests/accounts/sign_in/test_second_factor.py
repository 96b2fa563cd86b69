"""The second factor, in the admin and at POST /api/auth/token (docs/security.md)."""

from typing import Any

from django.test import Client
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.models import User
from accounts.sign_in import second_factor
from tests.accounts.sign_in.sign_in_requests import current_totp, request_token, sign_in


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
