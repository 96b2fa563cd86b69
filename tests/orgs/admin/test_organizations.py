"""The admin's pages of organisations, with their quotas."""

from typing import Any

import pytest

from accounts.models import User
from orgs.models import Organization, Role
from tests.orgs.admin.test_delegation import clerk
from tests.support.browsers import staff_browser
from tests.support.factories import World, ingest_text


def test_a_new_organisation_has_the_default_roles(world: World) -> None:
    superuser = User.objects.create_superuser("root@home.example", "x")
    values = {"name": "New", "slug": "new", "is_active": "on", "default_visibility": "public", "query_history": "full"}
    assert staff_browser(superuser).post("/admin/orgs/organization/add/", values).status_code == 302
    names = Role.objects.filter(organization__slug="new").values_list("name", flat=True)
    assert sorted(names) == ["admin", "editor", "member", "owner"]


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


@pytest.mark.django_db
def test_a_superuser_creates_the_first_organisation_of_a_new_installation() -> None:
    client = staff_browser(User.objects.create_superuser("root@home.example", "x"))
    assert 'href="/admin/orgs/organization/add/"' in client.get("/admin/").content.decode()
    assert "Add the first one" in client.get("/admin/orgs/organization/").content.decode()
    values = {"name": "New", "slug": "new", "is_active": "on", "default_visibility": "public", "query_history": "full"}
    assert client.post("/admin/orgs/organization/add/", values).status_code == 302
    assert 'href="/admin/orgs/membership/add/"' in client.get("/admin/").content.decode()
