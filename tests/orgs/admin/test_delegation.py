"""Nobody gives or takes permissions that they lack, and no organisation loses its last holder of a permission.

Through the admin's pages, for people with `members.manage` alone, for owners and for superusers.
"""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from accounts.models import User
from orgs.creation import add_member, get_service_user
from orgs.models import Membership, Organization, Role
from tests.support.browsers import staff_browser
from tests.support.factories import World

LACKING = "permissions you hold yourself"
LAST = "This removes the last active holder of “change members, teams and roles”"


def role(world: World, name: str) -> Role:
    return Role.objects.get(organization=world.home, name=name)


def membership(world: World, name: str) -> Membership:
    return Membership.objects.get(user=world.users[name], organization=world.home)


def clerk(world: World) -> Client:
    """A member with `members.manage` and no other permission."""
    people = Role.objects.create(organization=world.home, name="people", permissions=["members.manage"])
    membership(world, "member").roles.add(people)
    return staff_browser(world.users["member"])


def root() -> Client:
    return staff_browser(User.objects.create_superuser("root@platform.example"))


def only_owner(world: World) -> None:
    """Leave one holder of `members.manage`."""
    membership(world, "admin").roles.clear()


def member_form(member: Membership, **changes: Any) -> dict[str, Any]:
    roles = list(member.roles.values_list("pk", flat=True))
    values = {
        **{"user": member.user_id, "organization": member.organization_id, "is_active": "on"},
        **{"roles": roles, "teams": list(member.teams.values_list("pk", flat=True)), **changes},
    }
    return {name: value for name, value in values.items() if value is not None}


def change(row: Any, **values: Any) -> tuple[str, dict[str, Any]]:
    return f"/admin/{row._meta.app_label}/{row._meta.model_name}/{row.pk}/change/", values


def delete(row: Any) -> tuple[str, dict[str, Any]]:
    return f"/admin/{row._meta.app_label}/{row._meta.model_name}/{row.pk}/delete/", {"post": "yes"}


def bulk_delete(*rows: Any) -> tuple[str, dict[str, Any]]:
    values = {"action": "delete_selected", "_selected_action": [row.pk for row in rows], "post": "yes"}
    return f"/admin/{rows[0]._meta.app_label}/{rows[0]._meta.model_name}/", values


def role_form(world: World, current: str, *permissions: str, **changes: Any) -> tuple[str, dict[str, Any]]:
    values = {"organization": world.home.pk, "name": current, "permissions": permissions, **changes}
    return change(role(world, current), **values)


def add_role(world: World, name: str, *permissions: str) -> tuple[str, dict[str, Any]]:
    return "/admin/orgs/role/add/", {"organization": world.home.pk, "name": name, "permissions": permissions}


def user_form(user: User, **changes: Any) -> tuple[str, dict[str, Any]]:
    values = {"email": user.email, "name": "", "is_active": "on", **changes}
    return change(user, **{name: value for name, value in values.items() if value is not None})


def state() -> object:
    """Everything that decides who holds which permission."""
    return (
        sorted(Role.objects.values_list("pk", "organization", "name", "permissions")),
        sorted(Membership.roles.through.objects.values_list("membership", "role")),
        sorted(Membership.objects.values_list("pk", "user", "organization", "is_active")),
        sorted(User.objects.values_list("pk", "is_active", "is_superuser")),
    )


def assert_refused(client: Client, request: tuple[str, dict[str, Any]], message: str) -> None:
    before, logged = state(), LogEntry.objects.count()
    reply = client.post(*request, follow=True)
    assert message in reply.content.decode()
    assert (state(), LogEntry.objects.count()) == (before, logged)


Attempt = Callable[[World], tuple[str, dict[str, Any]]]
BEYOND_A_CLERK: dict[str, Attempt] = {
    "delete the owner's role": lambda world: delete(role(world, "owner")),
    "delete roles by the action": lambda world: bulk_delete(role(world, "member"), role(world, "owner")),
    "weaken the owner's role": lambda world: role_form(world, "owner", "members.manage"),
    "rename the owner's role": lambda world: role_form(world, "owner", *role(world, "owner").permissions, name="x"),
    "strengthen a role": lambda world: role_form(world, "member", "sources.manage"),
    "create a role": lambda world: add_role(world, "helpers", "sources.manage"),
    "strengthen a role that nobody holds": lambda world: role_form(world, _unused_role(world), "sources.manage"),
    "take the owner's role": lambda world: change(**member_row(membership(world, "owner"), roles=[])),
    "give themselves a role": lambda world: change(
        **member_row(membership(world, "member"), roles=[role(world, "people").pk, role(world, "owner").pk])
    ),
    "give the owner's membership away": lambda world: change(
        **member_row(membership(world, "owner"), user=_stranger(world).pk)
    ),
    "deactivate the owner": lambda world: change(**member_row(membership(world, "owner"), is_active=None)),
    "delete the owner's membership": lambda world: delete(membership(world, "owner")),
    "delete memberships by the action": lambda world: bulk_delete(
        membership(world, "supporter"), membership(world, "owner")
    ),
}


def member_row(row: Membership, **changes: Any) -> dict[str, Any]:
    return {"row": row, **member_form(row, **changes)}


def _unused_role(world: World) -> str:
    return Role.objects.create(organization=world.home, name="unused", permissions=["members.manage"]).name


def _stranger(world: World) -> User:
    """A user whom the clerk may choose: a member of another organisation that the clerk manages."""
    abroad = add_member(user=world.users["member"], organization=world.abroad, roles=["owner"])
    assert abroad.is_active
    return world.users["foreigner"]


@pytest.mark.parametrize("attempt", BEYOND_A_CLERK)
def test_nobody_changes_permissions_that_they_lack(world: World, attempt: str) -> None:
    client = clerk(world)
    assert_refused(client, BEYOND_A_CLERK[attempt](world), LACKING)


def test_a_deactivated_membership_is_not_revived_by_who_lacks_its_permissions(world: World) -> None:
    client = clerk(world)
    Membership.objects.filter(user=world.users["admin"]).update(is_active=False)
    admin = membership(world, "admin")
    assert_refused(client, change(admin, **member_form(admin)), LACKING)


def test_what_a_clerk_holds_and_what_gives_no_permission_is_changed(world: World) -> None:
    client = clerk(world)
    supporter, people = membership(world, "supporter"), role(world, "people")
    assert client.post(*change(supporter, **member_form(supporter, roles=[people.pk]))).status_code == 302
    assert supporter.roles.get() == people
    assert client.post(*change(supporter, **member_form(supporter, roles=[], is_active=None))).status_code == 302
    assert client.post(*delete(supporter)).status_code == 302
    assert client.post(*role_form(world, "member", name="reader")).status_code == 302
    assert client.post(*delete(role(world, "reader"))).status_code == 302
    assert not Role.objects.filter(name="reader").exists()


LOSSES: dict[str, Attempt] = {
    "the role is deleted": lambda world: delete(role(world, "owner")),
    "roles are deleted by the action": lambda world: bulk_delete(role(world, "editor"), role(world, "owner")),
    "the role is weakened": lambda world: role_form(world, "owner", "sources.create", "sources.ingest"),
    "the role moves": lambda world: role_form(
        world, "owner", *role(world, "owner").permissions, name="former", organization=world.abroad.pk
    ),
    "the role is taken": lambda world: change(**member_row(membership(world, "owner"), roles=[])),
    "the membership is deactivated": lambda world: change(**member_row(membership(world, "owner"), is_active=None)),
    "the membership is deleted": lambda world: delete(membership(world, "owner")),
    "memberships are deleted by the action": lambda world: bulk_delete(*world.home.memberships.all()),
}
USER_LOSSES: dict[str, Attempt] = {
    "the user is deactivated": lambda world: user_form(world.users["owner"], is_active=None),
    "the user is deleted": lambda world: delete(world.users["owner"]),
    "users are deleted by the action": lambda world: bulk_delete(*(world.users[n] for n in ("owner", "member"))),
}


@pytest.mark.parametrize("loss", [*LOSSES, *USER_LOSSES])
def test_a_superuser_cannot_remove_the_last_holder(world: World, loss: str) -> None:
    only_owner(world)
    assert_refused(root(), {**LOSSES, **USER_LOSSES}[loss](world), LAST)


@pytest.mark.parametrize("loss", [name for name in LOSSES if name != "the role moves"])
def test_the_last_owner_cannot_remove_themselves(world: World, loss: str) -> None:
    only_owner(world)
    assert_refused(staff_browser(world.users["owner"]), LOSSES[loss](world), LAST)


@pytest.mark.parametrize("inactive", ["user", "membership"])
def test_inactive_people_are_no_holders(world: World, inactive: str) -> None:
    if inactive == "user":
        User.objects.filter(pk=world.users["admin"].pk).update(is_active=False)
    else:
        Membership.objects.filter(user=world.users["admin"]).update(is_active=False)
    assert_refused(root(), delete(world.users["owner"]), LAST)


@pytest.mark.parametrize("loss", [*LOSSES, *USER_LOSSES])
def test_a_superuser_may_remove_a_holder_who_is_not_the_last(world: World, loss: str) -> None:
    add_member(user=User.objects.create_user("x@home.example"), organization=world.home, roles=["admin"])
    if loss == "memberships are deleted by the action":
        request = bulk_delete(membership(world, "owner"), membership(world, "admin"))
    else:
        request = {**LOSSES, **USER_LOSSES}[loss](world)
    before = state()
    assert root().post(*request).status_code == 302
    assert state() != before


def test_both_last_holders_cannot_be_deleted_at_once(world: World) -> None:
    assert_refused(root(), bulk_delete(world.users["owner"], world.users["admin"]), LAST)


def test_an_organisation_is_deleted_with_its_last_holders(world: World) -> None:
    only_owner(world)
    client = root()
    assert client.post(*delete(world.home)).status_code == 302
    assert not Membership.objects.filter(organization=world.home).exists()
    assert client.post(*delete(world.users["owner"])).status_code == 302


def test_deleting_an_organisation_keeps_the_last_holders_of_others(world: World) -> None:
    """An organisation's service user is deleted with it, and may hold a permission in another organisation."""
    service = get_service_user("abroad")
    assert service is not None
    only_owner(world)
    membership(world, "owner").roles.clear()
    add_member(user=service, organization=world.home, roles=["owner"])
    assert_refused(root(), delete(world.abroad), LAST)
    assert Organization.objects.get(pk=world.abroad.pk).deleted_at is None
