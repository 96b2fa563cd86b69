"""The admin's pages of users, memberships and roles: nobody gives more than they have."""

from django.contrib.auth.models import Permission as ModelPermission

from accounts.models import User
from orgs.models import Membership, Role
from tests.orgs.admin.test_delegation import delete, user_form
from tests.support.browsers import staff_browser
from tests.support.factories import World


def test_a_membership_accepts_only_roles_of_its_organisation(world: World) -> None:
    superuser = User.objects.create_superuser("root@home.example", "x")
    membership = Membership.objects.get(user=world.users["member"])
    values = {
        "user": membership.user_id,
        "organization": world.home.pk,
        "is_active": "on",
        "roles": [world.abroad.roles.get(name="owner").pk],
    }
    reply = staff_browser(superuser).post(f"/admin/orgs/membership/{membership.pk}/change/", values)
    assert "is not one of the available choices" in reply.content.decode()


def test_a_role_accepts_only_known_permissions(world: World) -> None:
    client = staff_browser(world.users["owner"])
    values = {"organization": world.home.pk, "name": "librarian", "permissions": ["sources.ingest"]}
    assert client.post("/admin/orgs/role/add/", values).status_code == 302
    assert Role.objects.get(name="librarian").permissions == ["sources.ingest"]
    assert client.post("/admin/orgs/role/add/", {**values, "name": "x", "permissions": ["all"]}).status_code == 200


def test_managing_members_cannot_escalate_permissions(world: World) -> None:
    people_role = Role.objects.create(organization=world.home, name="people", permissions=["members.manage"])
    membership = Membership.objects.get(user=world.users["member"])
    membership.roles.add(people_role)
    client = staff_browser(world.users["member"])
    values = {"organization": world.home.pk, "name": "mighty", "permissions": ["sources.manage"]}
    assert "permissions you hold yourself" in client.post("/admin/orgs/role/add/", values).content.decode()
    owner = world.home.roles.get(name="owner")
    values = {"user": membership.user_id, "organization": world.home.pk, "is_active": "on", "roles": [owner.pk]}
    reply = client.post(f"/admin/orgs/membership/{membership.pk}/change/", values)
    assert "permissions you hold yourself" in reply.content.decode()
    weaker = {"organization": world.home.pk, "name": "owner", "permissions": []}
    assert client.post(f"/admin/orgs/role/{owner.pk}/change/", weaker).status_code == 200
    assert Role.objects.get(pk=owner.pk).permissions
    assert not membership.roles.filter(pk=owner.pk).exists()


def test_only_superusers_manage_users(world: World) -> None:
    """Django's own permissions would let staff make themselves superusers, or change an owner's password."""
    editor = world.users["editor"]
    editor.user_permissions.set(ModelPermission.objects.filter(content_type__app_label="accounts"))
    client = staff_browser(editor)
    for request in (user_form(editor, is_superuser="on"), delete(world.users["owner"]), ("/admin/accounts/user/", {})):
        assert client.post(*request).status_code == 403
    page = f"/admin/accounts/user/{world.users['owner'].pk}/password/"
    assert client.post(page, {"password1": "correct horse", "password2": "correct horse"}).status_code == 403
    assert client.get("/admin/accounts/user/").status_code == 403
    assert not User.objects.get(pk=editor.pk).is_superuser


def test_tokens_have_no_page(world: World) -> None:
    superuser = User.objects.create_superuser("root@home.example", "x")
    assert staff_browser(superuser).get("/admin/accounts/tokenfamily/").status_code == 404
