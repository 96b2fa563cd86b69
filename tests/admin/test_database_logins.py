"""Pages of the admin with the database logins of a web process, which read less than the tests' own connection."""

from typing import Any

import pytest
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.models import AuditEvent, User
from accounts.sign_in import second_factor
from orgs.models import Membership, Role
from tests.access.database import injection
from tests.support.browsers import staff_browser
from tests.support.factories import World

pytestmark = pytest.mark.django_db(transaction=True)
PASSWORD = "a long enough phrase"


def test_a_superuser_sets_a_password_and_removes_second_factors_and_accounts(live_world: World) -> None:
    client = staff_browser(User.objects.create_superuser("root@platform.example"))
    member = live_world.users["member"]
    for _ in range(2):
        second_factor.get_or_create_unconfirmed(member)
        second_factor.renew_recovery_codes(member)
    page = f"/admin/accounts/user/{member.pk}"
    passwords = {"usable_password": "true", "password1": PASSWORD, "password2": PASSWORD}
    with injection.web_process(is_restricted=True):
        for path in ("/admin/accounts/user/", f"{page}/change/", "/admin/orgs/apikey/", "/admin/orgs/membership/"):
            assert client.get(path).status_code == 200, path
        assert client.post(f"{page}/password/", passwords).status_code == 302
        removal = {"action": "remove_second_factor", "_selected_action": [str(member.pk)]}
        assert client.post("/admin/accounts/user/", removal).status_code == 302
    assert User.objects.get(pk=member.pk).check_password(PASSWORD)
    assert AuditEvent.objects.filter(subject_id=member.pk, after__password="changed").exists()
    assert not TOTPDevice.objects.exists()
    assert not StaticDevice.objects.exists()
    second_factor.renew_recovery_codes(member)
    with injection.web_process(is_restricted=True):
        assert client.post(f"{page}/delete/", {"post": "yes"}).status_code == 302
    assert not User.objects.filter(pk=member.pk).exists()
    assert not StaticDevice.objects.exists()


@pytest.mark.parametrize("deletes", [False, True])
def test_an_administrator_gives_up_the_right_to_manage_members(live_world: World, deletes: bool) -> None:
    """In the same transaction the database no longer shows them what they change."""
    membership = Membership.objects.get(user=live_world.users["admin"], organization=live_world.home)
    reader = Role.objects.create(organization=live_world.home, name="plain")
    form: dict[str, Any] = {"post": "yes"}
    if not deletes:
        form = {
            "user": membership.user_id,
            "organization": membership.organization_id,
            "is_active": "on",
            "roles": [reader.pk],
        }
    client = staff_browser(live_world.users["admin"])
    with injection.web_process(is_restricted=True):
        response = client.post(f"/admin/orgs/membership/{membership.pk}/{'delete' if deletes else 'change'}/", form)
        assert response.status_code == (302 if deletes else 403), "the page is closed to them afterwards"
    assert Membership.objects.filter(pk=membership.pk).exists() is not deletes


@pytest.mark.parametrize("is_staff", [False, True])
def test_whoever_may_not_open_the_admin_gets_its_sign_in(live_world: World, settings: Any, is_staff: bool) -> None:
    """The sign-in page has a database login that reads no permissions. The page lists nothing, so it needs none."""
    settings.RAG_STAFF_OTP = "optional"
    user = live_world.users["editor"]
    client = staff_browser(user)
    User.objects.filter(pk=user.pk).update(is_staff=is_staff)
    TOTPDevice.objects.create(user=user, confirmed=True)  # whose code is not entered yet
    with injection.web_process(is_restricted=True):
        page = client.get("/admin/", follow=True)
    assert (page.status_code, page.redirect_chain) == (200, [("/admin/login/?next=/admin/", 302)])
    assert b'name="username"' in page.content
