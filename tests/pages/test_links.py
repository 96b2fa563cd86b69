"""Accounts with the least rights follow every link that they see. (The others do so in tests/browser.)"""

import pytest
from django.test import Client

from accounts.models import User
from orgs.models import Membership
from rag.models import Document
from tests.browser.crawl import crawl
from tests.browser.site import QUESTION, Site
from tests.support.factories import World


@pytest.fixture
def site(live_world: World) -> Site:
    return Site.create(live_world)


def test_a_person_with_nothing_but_a_team_meets_no_dead_end(site: Site) -> None:
    """With and without the right to open the admin, which shows them nothing else."""
    person = site.users["supporter"]
    Membership.objects.get(user=person).roles.clear()
    for is_staff in (False, True):
        User.objects.filter(pk=person.pk).update(is_staff=is_staff)
        client = Client()
        client.force_login(person)
        page = client.get("/").content.decode()
        assert ("For team" in page, "For private" in page, "For role" in page) == (True, False, False)
        client.post("/", {"question": QUESTION})
        pages, wrong = crawl(client, "/", *(["/admin/"] if is_staff else []))
        assert wrong == []
        assert {"ask", "history", "document"} <= set(pages)
        assert not [name for name in pages if name.startswith("admin:rag") or name.startswith("admin:orgs")]


def test_an_account_with_only_an_api_key_is_sent_to_the_sign_in_page(site: Site) -> None:
    person = site.users["editor"]
    person.set_unusable_password()
    person.save()
    client = Client(headers={"Authorization": f"Bearer {site.world.key('editor').secret}"})
    for path in (
        "/",
        "/history",
        "/compare",
        f"/documents/{Document.objects.values_list('pk', flat=True).first()}",
        "/admin/",
    ):
        reply = client.get(path)
        assert (reply.status_code, reply.headers["Location"].split("?")[0]) in [
            (302, "/sign-in"),
            (302, "/admin/login/"),
        ]
    fields = {"username": person.email, "password": ""}
    assert "Sign in" in client.post("/sign-in", fields).content.decode()
    assert client.get("/").status_code == 302
