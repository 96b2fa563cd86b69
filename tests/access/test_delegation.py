"""The rule of delegation holds in random organisations, after every accepted change of a random sequence."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from accounts.models import User
from orgs.access.delegation import AccessChangeRefused, change_access
from orgs.models import Membership, Organization, Role
from tests.access.rule.oracle import PERMISSIONS
from tests.support.data.database import rolled_back
from tests.support.data.rows import insert_rows

pytestmark = pytest.mark.django_db

permission_sets = st.frozensets(st.sampled_from(PERMISSIONS)) | st.just(frozenset(PERMISSIONS))
number = st.integers(0, 7)


@dataclass(frozen=True)
class Step:
    """A change: who makes it, what is done to which row, and numbers that choose the new values."""

    actor: int
    action: str
    row: int
    other: int
    permissions: frozenset[str]
    is_wanted: bool


# The row to save or delete with its new values, and the function that writes it; None for no change.
Action = Callable[[Step], tuple[Any, Callable[[], Any]] | None]
ACTIONS: dict[str, Action] = {}


def action(function: Action) -> Action:
    ACTIONS[function.__name__] = function
    return function


def pick(model: Any, index: int) -> Any:
    """One of the rows that exist at this moment; None if there is none."""
    rows = list(model.objects.order_by("pk"))
    return rows[index % len(rows)] if rows else None


def _save(row: Any, **values: Any) -> Any:
    for name, value in values.items():
        setattr(row, name, value)
    return row


@action
def change_role(step: Step) -> Any:
    role = pick(Role, step.row)
    return role and (_save(role, permissions=sorted(step.permissions)), role.save)


@action
def move_role(step: Step) -> Any:
    role = pick(Role, step.row)
    return role and (_save(role, organization=pick(Organization, step.other), name=f"m{role.pk}"), role.save)


@action
def delete_role(step: Step) -> Any:
    role = pick(Role, step.row)
    return role and (role, role.delete)


@action
def change_roles(step: Step) -> Any:
    member = pick(Membership, step.row)
    roles = member and Role.objects.filter(organization=member.organization).order_by("pk")[: step.other % 3]
    return member and (member, lambda: member.roles.set(roles))


@action
def activate_membership(step: Step) -> Any:
    member = pick(Membership, step.row)
    return member and (_save(member, is_active=step.is_wanted), member.save)


@action
def give_membership_away(step: Step) -> Any:
    member, user = pick(Membership, step.row), pick(User, step.other)
    if not member or Membership.objects.filter(user=user, organization=member.organization).exists():
        return None
    return _save(member, user=user), member.save


@action
def delete_membership(step: Step) -> Any:
    member = pick(Membership, step.row)
    return member and (member, member.delete)


@action
def activate_user(step: Step) -> Any:
    user = pick(User, step.row)
    return _save(user, is_active=step.is_wanted), user.save


@action
def delete_user(step: Step) -> Any:
    user = pick(User, step.row)
    return (user, user.delete) if User.objects.count() > 1 else None


steps = st.builds(Step, number, st.sampled_from(sorted(ACTIONS)), number, number, permission_sets, st.booleans())


# Role, user, organisation, permission, whether the membership is active, and whether the user is.
_ASSIGNMENTS = """
SELECT role.id, member.user_id, member.organization_id, unnest(role.permissions), member.is_active, account.is_active
FROM orgs_membership member
JOIN orgs_membership_roles held_role ON held_role.membership_id = member.id
JOIN orgs_role role ON role.id = held_role.role_id AND role.organization_id = member.organization_id
JOIN accounts_user account ON account.id = member.user_id
"""


@dataclass(frozen=True)
class Facts:
    """Who holds what, read without the product's rule. A right is an organisation and a permission."""

    roles: frozenset[Any]
    assigned: frozenset[Any]
    effective: frozenset[Any]

    @classmethod
    def read(cls) -> "Facts":
        with connection.cursor() as cursor:
            cursor.execute("SELECT id, organization_id, name, permissions FROM orgs_role")
            roles = {(*row, frozenset(permissions)) for *row, permissions in cursor.fetchall()}
            cursor.execute(_ASSIGNMENTS)
            assignments = cursor.fetchall()
        assigned = {tuple(assignment) for *assignment, _ in assignments}
        effective = {(user, home, permission) for _, user, home, permission, *active in assignments if all(active)}
        return cls(frozenset(roles), frozenset(assigned), frozenset(effective))

    def rights_of(self, user: User) -> set[Any]:
        return {(organization, permission) for holder, organization, permission in self.effective if holder == user.pk}

    @property
    def held_rights(self) -> set[Any]:
        return {(organization, permission) for _, organization, permission in self.effective}


def required_rights(before: Facts, after: Facts) -> set[Any]:
    """What one must hold to make this change: the permissions that it concerns, and to manage members there."""
    roles, assigned = before.roles ^ after.roles, before.assigned ^ after.assigned
    rights = {(organization, permission) for _, organization, _, permissions in roles for permission in permissions}
    rights |= {(organization, permission) for _, _, organization, permission, _ in assigned}
    organizations = {role[1] for role in roles} | {assignment[2] for assignment in assigned}
    return rights | {(organization, "members.manage") for organization in organizations}


def find_objection(actor: User, row: Any, before: Facts, after: Facts) -> str | None:
    """What the rule has against this change: exactly docs/contracts/access.md, no more and no less."""
    if not before.held_rights <= after.held_rights:
        return "a permission loses its last holder"
    if actor.is_superuser and actor.is_active:
        return None
    if isinstance(row, User):
        return "somebody who is not a superuser changes an account"
    if not required_rights(before, after) <= before.rights_of(actor):
        return "somebody changes permissions that they lack, or who holds them without managing members"
    return None


def try_step(step: Step, before: Facts) -> Facts:
    """Make the change by the rule and, in a world that is rolled back, without it; compare what has happened.

    Returns:
        What holds afterwards.
    """
    actor = pick(User, step.actor)
    if not (prepared := ACTIONS[step.action](step)):
        return before
    with rolled_back():
        prepared[1]()
        without_rule = Facts.read()
    prepared = ACTIONS[step.action](step)  # the rows are stored again
    assert prepared
    objection = find_objection(actor, prepared[0], before, without_rule)
    try:
        with change_access(actor=actor, rows=[prepared[0]]):
            prepared[1]()
        refused_with = None
    except AccessChangeRefused as error:
        refused_with = error
    if objection:
        assert refused_with, f"accepted although {objection}"
    else:
        assert not refused_with, f"an allowed change was refused: {refused_with}"
    after = Facts.read()
    assert after == (before if refused_with else without_rule)
    return after


@st.composite
def people(draw: st.DrawFn) -> tuple[Any, ...]:
    """Users as (active, superuser), roles as (organisation, permissions), and memberships with roles."""
    users = draw(st.lists(st.tuples(st.sampled_from((True, True, True, False)), st.booleans()), min_size=2, max_size=4))
    roles = draw(st.lists(st.tuples(st.integers(0, 1), permission_sets), min_size=2, max_size=5))
    members = draw(
        st.lists(
            st.tuples(st.integers(0, len(users) - 1), st.integers(0, 1), st.booleans(), st.frozensets(number)),
            min_size=2,
            max_size=6,
            unique_by=lambda member: member[:2],
        )
    )
    return users, roles, members


def build(users: Iterable[Any], roles: Iterable[Any], members: Iterable[Any]) -> None:
    homes = [Organization(name=f"o{n}", slug=f"o{n}") for n in range(2)]
    user_rows = [
        User(email=f"u{n}@x.example", is_active=active, is_superuser=superuser)
        for n, (active, superuser) in enumerate(users)
    ]
    role_rows = [
        Role(organization=homes[home], name=f"r{n}", permissions=sorted(permissions))
        for n, (home, permissions) in enumerate(roles)
    ]
    member_rows = [
        (Membership(user=user_rows[user], organization=homes[home], is_active=active), indexes)
        for user, home, active, indexes in members
    ]
    assigned = [
        Membership.roles.through(membership=row, role=role)
        for row, indexes in member_rows
        for role in dict.fromkeys(role_rows[index % len(role_rows)] for index in sorted(indexes))
        if role.organization == row.organization
    ]
    insert_rows([*homes, *user_rows, *role_rows, *(row for row, _ in member_rows), *assigned])


@given(people=people(), sequence=st.lists(steps, min_size=1, max_size=8))
@settings(max_examples=40, phases=set(Phase) - {Phase.explain})
def test_every_accepted_change_keeps_the_rule(people: tuple[Any, ...], sequence: list[Step]) -> None:
    with rolled_back():
        build(*people)
        facts = Facts.read()
        for step in sequence:
            with transaction.atomic():
                facts = try_step(step, facts)
