"""The admin's pages of organisations, memberships, roles, API keys and tokens."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission as ModelPermission
from django.utils import timezone

from accounts.models import User
from orgs.models import ApiKey, Membership, Organization, Role
from tests.orgs.admin.test_delegation import change, clerk, delete, user_form
from tests.support.browsers import staff_browser
from tests.support.factories import World, ingest_text


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


def test_a_new_organisation_has_the_default_roles(world: World) -> None:
    superuser = User.objects.create_superuser("root@home.example", "x")
    values = {"name": "New", "slug": "new", "is_active": "on", "default_visibility": "public", "query_history": "full"}
    assert staff_browser(superuser).post("/admin/orgs/organization/add/", values).status_code == 302
    names = Role.objects.filter(organization__slug="new").values_list("name", flat=True)
    assert sorted(names) == ["admin", "editor", "member", "owner"]


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


def test_tokens_have_no_page(world: World) -> None:
    superuser = User.objects.create_superuser("root@home.example", "x")
    assert staff_browser(superuser).get("/admin/accounts/tokenfamily/").status_code == 404


def test_keys_are_listed_and_revoked_but_never_shown_or_created(world: World) -> None:
    active, flagged, foreign = (
        world.key("editor", "query", name="n8n"), world.key("member"),
        world.key("foreigner", organization=world.abroad),
    )  # fmt: skip
    ApiKey.objects.filter(pk=flagged.key.pk).update(flagged_at=timezone.now())
    client = staff_browser(world.users["owner"])
    page, detail = "/admin/orgs/apikey/", f"/admin/orgs/apikey/{active.key.pk}/change/"
    text = client.get(page).content.decode() + client.get(detail).content.decode()
    for shown in (active.key.prefix, "n8n", world.users["editor"].email, "flagged", "active"):
        assert shown in text
    for hidden in (active.secret[11:], active.key.hash, foreign.key.prefix):
        assert hidden not in text
    assert client.get(page + "add/").status_code == 403
    assert client.post(detail, {"scopes": "manage"}).status_code == 403
    assert client.post(f"/admin/orgs/apikey/{active.key.pk}/delete/", {"post": "yes"}).status_code == 403
    ApiKey.objects.filter(pk=flagged.key.pk).update(name="\u202eflagged")  # must not reorder the words around it
    confirmation = client.post(page, {"action": "revoke", "_selected_action": [flagged.key.pk]}).content.decode()
    assert confirmation.count("\u202e") == confirmation.count("<bdi>\u202e") == 1
    action = {"action": "revoke", "confirmed": "yes", "_selected_action": [active.key.pk, foreign.key.pk]}
    assert client.post(page, action).status_code == 302
    assert list(ApiKey.objects.exclude(revoked_at=None)) == [active.key]
    assert "revoked" in client.get(page).content.decode()


def test_query_parameters_cannot_filter_by_a_keys_hash(world: World) -> None:
    world.key("editor")
    client = staff_browser(world.users["owner"])
    for query in ("hash__startswith=a", "user__password__startswith=p"):
        assert client.get(f"/admin/orgs/apikey/?{query}").status_code in (302, 400)


def test_owners_see_the_quota_but_only_superusers_change_it(world: World) -> None:
    world.home.max_chunks = 1000
    world.home.save()
    values = {
        "name": "Home",
        "is_active": "on",
        "default_visibility": "public",
        "query_history": "full",
        "max_chunks": 5000,
    }
    url = f"/admin/orgs/organization/{world.home.pk}/change/"
    owner = staff_browser(world.users["owner"])
    assert "1000" in owner.get(url).content.decode()
    owner.post(url, values)
    world.home.refresh_from_db()
    assert world.home.max_chunks == 1000
    root = staff_browser(User.objects.create_superuser("root@home.example", "x"))
    assert root.post(url, {**values, "slug": "home"}).status_code == 302
    world.home.refresh_from_db()
    assert world.home.max_chunks == 5000


def test_storage_is_shown_and_warns_near_the_quota(world: World) -> None:
    source = world.source("domestic")
    ingest_text(source, "a", "Zebras.")
    page = f"/admin/orgs/organization/{world.home.pk}/change/"
    owner = staff_browser(world.users["owner"])
    world.home.max_chunks, world.home.max_bytes = 10, 7
    world.home.save()
    for url in (page, "/admin/orgs/organization/"):
        text = owner.get(url).content.decode()
        assert "1 of 10" in text
        assert text.count("over-quota") == 1, "7 of 7 bytes, 1 of 10 chunks"
    values = {"name": "Home", "is_active": "on", "default_visibility": "public", "max_bytes": 5000}
    owner.post(page, values)
    world.home.refresh_from_db()
    assert world.home.max_bytes == 7
    content = owner.get(f"/admin/rag/datasource/{source.pk}/change/").content.decode()
    assert "1 document, 1 chunk, 7" in content


def test_a_page_that_was_open_meanwhile_does_not_open_a_suspended_organisation(world: World) -> None:
    root = staff_browser(User.objects.create_superuser("root@home.example", "x"))
    address = f"/admin/orgs/organization/{world.home.pk}/change/"
    shown: Any = root.get(address)
    values = {
        "name": "Home",
        "slug": "home",
        "is_active": "on",
        "default_visibility": "public",
        "query_history": "full",
    }
    values["version"] = shown.context["adminform"].form["version"].value()
    Organization.objects.filter(pk=world.home.pk).update(is_active=False)
    assert "was changed after you had opened the page" in root.post(address, values).content.decode()
    assert not Organization.objects.get(pk=world.home.pk).is_active
    Organization.objects.filter(pk=world.home.pk).update(is_active=True)
    assert root.post(address, values).status_code == 302


def test_an_administrator_cannot_close_the_organisation(world: World) -> None:
    values = {"name": "Home", "default_visibility": "public", "query_history": "full"}
    client = clerk(world)
    client.post(f"/admin/orgs/organization/{world.home.pk}/change/", values)
    assert Organization.objects.get(pk=world.home.pk).is_active


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


def test_keys_of_others_are_revoked_but_not_changed(world: World) -> None:
    client, key = clerk(world), world.key("owner").key
    assert client.post(*change(key, name="x", scopes="query")).status_code == 403
    assert client.post(*delete(key)).status_code == 403
    values = {"action": "revoke", "confirmed": "yes", "_selected_action": [key.pk]}
    assert client.post("/admin/orgs/apikey/", values).status_code == 302
    assert ApiKey.objects.get(pk=key.pk).revoked_at


@pytest.mark.django_db
def test_a_superuser_creates_the_first_organisation_of_a_new_installation() -> None:
    client = staff_browser(User.objects.create_superuser("root@home.example", "x"))
    assert 'href="/admin/orgs/organization/add/"' in client.get("/admin/").content.decode()
    assert "Add the first one" in client.get("/admin/orgs/organization/").content.decode()
    values = {"name": "New", "slug": "new", "is_active": "on", "default_visibility": "public", "query_history": "full"}
    assert client.post("/admin/orgs/organization/add/", values).status_code == 302
    assert 'href="/admin/orgs/membership/add/"' in client.get("/admin/").content.decode()
