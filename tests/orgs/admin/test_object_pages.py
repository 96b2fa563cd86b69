"""An object's pages "Delete" and "History" have the title of its form, and lead to its events in the audit trail."""

import re
from typing import Any

import pytest

from orgs.access.permissions import Permission
from orgs.models import Role
from tests.support.browsers import staff_browser
from tests.support.factories import World


def test_the_history_of_an_object_leads_to_its_events(world: World) -> None:
    for name in ("readers", "writers"):
        Role.objects.create(organization=world.home, name=name)
    role = Role.objects.get(name="readers")
    owner = staff_browser(world.users["owner"])
    page = owner.get(f"/admin/orgs/role/{role.pk}/history/").content.decode()
    assert "doesn’t have a change history" not in page
    (address,) = re.findall(r'href="(/admin/accounts/auditevent/\?[^"]+)"', page)
    events: Any = owner.get(address)
    assert [(event.action, event.object_id) for event in events.context["cl"].result_list] == [
        ("created", str(role.pk))
    ]


def test_those_who_may_not_read_the_audit_trail_get_no_link_to_it(world: World) -> None:
    manager = Role.objects.create(organization=world.home, name="manager", permissions=[Permission.SOURCES_MANAGE])
    world.users["member"].memberships.get().roles.set([manager])
    source = world.source(owner=world.users["member"])
    page = staff_browser(world.users["member"]).get(f"/admin/rag/datasource/{source.pk}/history/").content.decode()
    assert "auditevent" not in page
    assert "The audit trail records every change." in page


@pytest.mark.parametrize("page", ["change", "history", "delete"])
def test_the_pages_of_a_role_omit_the_only_organisation_in_their_titles(world: World, page: str) -> None:
    role = Role.objects.create(organization=world.home, name="readers")
    text = staff_browser(world.users["owner"]).get(f"/admin/orgs/role/{role.pk}/{page}/").content.decode()
    (breadcrumbs,) = re.findall(r'<div class="breadcrumbs">.*?</div>', text, re.DOTALL)
    assert "readers" in breadcrumbs
    assert "Home" not in breadcrumbs.replace(">Home<", "")
    assert "readers · Home" not in text.split("</h1>")[0]
