"""Two people who change access at the same moment: an organisation keeps its holders, and nothing fails."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from accounts.models import User
from orgs.admin.members_and_teams import MembershipAdmin, RoleAdmin
from orgs.models import Role
from ragsite.postgres import identity
from tests.orgs.admin.test_delegation import change, delete, member_row, membership, user_form
from tests.support.browsers import staff_browser
from tests.support.factories import World


@pytest.mark.parametrize("way", ["roles", "delete", "user"])
def test_two_admins_who_remove_each_other_at_the_same_moment(live_world: World, way: str) -> None:
    world, names = live_world, ("owner", "admin")
    requests: dict[str, Callable[[str], tuple[str, dict[str, Any]]]] = {
        "roles": lambda name: change(**member_row(membership(world, name), roles=[])),
        "delete": lambda name: delete(membership(world, name)),
        "user": lambda name: user_form(world.users[name], is_active=None),
    }
    if way == "user":
        User.objects.filter(pk__in=[world.users[name].pk for name in names]).update(is_superuser=True)
        for name in names:
            world.users[name].refresh_from_db()
    tasks = [(staff_browser(world.users[actor]), requests[way](other)) for actor, other in (names, names[::-1])]
    ready = threading.Barrier(2)

    def run(client: Client, request: tuple[str, dict[str, Any]]) -> None:
        try:
            ready.wait(20)
            client.post(*request)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    holders = User.objects.filter(
        is_active=True, memberships__is_active=True, memberships__roles__permissions__contains=["members.manage"]
    )
    assert holders.distinct().count() == 1


def test_an_admin_who_is_removed_while_they_remove_somebody_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The admin is removed after the page has checked the permission, and before it lists what would be deleted."""
    get_deleted_objects = MembershipAdmin.get_deleted_objects

    def lose_membership(*args: Any, **kwargs: Any) -> Any:
        with identity.run_as(identity.WORKER):
            membership(world, "admin").delete()
        return get_deleted_objects(*args, **kwargs)

    client, request = staff_browser(world.users["admin"]), delete(membership(world, "member"))
    monkeypatch.setattr(MembershipAdmin, "get_deleted_objects", lose_membership)
    assert client.post(*request).status_code in (302, 403)
    assert membership(world, "member")


def test_a_name_that_somebody_else_takes_at_the_same_moment_is_an_error_of_the_form(
    live_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both forms are checked before one of them is saved. The other one was then an error (500)."""
    save_model, values = RoleAdmin.save_model, {"organization": live_world.home.pk, "name": "support"}

    def take_name() -> None:
        with identity.run_as(identity.WORKER):
            Role.objects.create(organization=live_world.home, name="support")
        connection.close()

    def save_second(*args: Any) -> None:
        monkeypatch.setattr(RoleAdmin, "save_model", save_model)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(take_name).result()
        save_model(*args)

    monkeypatch.setattr(RoleAdmin, "save_model", save_second)
    reply = staff_browser(live_world.users["owner"]).post("/admin/orgs/role/add/", values)
    assert (reply.status_code, "has a role with this name" in reply.content.decode()) == (200, True)
