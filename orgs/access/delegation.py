"""The rule for changes of roles, memberships and users (docs/contracts/access.md).

1. Nobody gives, takes, changes or removes permissions that they lack in the organisation, and only holders of
   `members.manage` change who holds them. A superuser may change all of them.
2. A permission that an active user holds through an active membership keeps such a holder in the organisation,
   whoever makes the change, until the organisation is deleted.

The state before a change is compared with the state after it, so that the rule covers cascades, many-to-many fields
and rows that move. Every place that changes such rows for a person calls `change_access`.
"""

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Model
from django.utils.translation import gettext

from accounts.models import User
from orgs.models import AnyUser, Membership, Organization, Role
from ragsite.postgres import identity
from ragsite.postgres.locks import advisory_xact_locks

from .caller import Caller
from .effective_permissions import effective_permissions
from .permissions import Permission, describe_permissions

Right = tuple[uuid.UUID, str]


class AccessChangeRefused(Exception):
    """The change breaks the rule. Roll its transaction back. The text is for the person who makes the change."""


@dataclass(frozen=True, slots=True)
class _StoredRole:
    pk: uuid.UUID
    organization: uuid.UUID
    name: str
    permissions: frozenset[str]

    @property
    def rights(self) -> set[Right]:
        return {(self.organization, permission) for permission in self.permissions}


@dataclass(frozen=True, slots=True)
class _Assignment:
    """A role that gives permissions, and the membership that has it."""

    role: _StoredRole
    membership: uuid.UUID
    organization: uuid.UUID
    user: uuid.UUID
    is_membership_active: bool
    is_user_active: bool

    @property
    def rights(self) -> set[Right]:
        return {(self.organization, permission) for permission in self.role.permissions}

    @property
    def is_effective(self) -> bool:
        """A role has an effect only in its own organisation."""
        return self.is_membership_active and self.is_user_active and self.role.organization == self.organization


@dataclass(frozen=True, slots=True)
class _State:
    roles: frozenset[_StoredRole]
    assignments: frozenset[_Assignment]

    @property
    def held_rights(self) -> set[Right]:
        return {right for assignment in self.assignments if assignment.is_effective for right in assignment.rights}


class AccessChange:
    """A change of roles, memberships or users that the current transaction makes.

    Create it before the first write and call `verify` after the last one, in the same transaction. Changes that concern
    the same organisation wait for each other.
    """

    def __init__(self, *, actor: AnyUser | None, rows: Iterable[Model]) -> None:
        """Lock what the change concerns and read the state before it.

        Args:
            actor: Who makes the change. None for code that acts for nobody: the first part of the rule does not apply.
            rows: The roles, memberships and users that are saved or deleted; those to save with their new values.

        Raises:
            AccessChangeRefused: Another transaction has moved a row to another organisation or user at this moment, or
                there are users among the rows and the actor is not a superuser.
        """
        rows = list(rows)
        # A user's organisations are known only while nobody can add memberships of the user: users are locked first.
        users = _find_users(rows)
        advisory_xact_locks([f"access of user {pk}" for pk in users])
        self._organizations = _find_organizations(rows)
        advisory_xact_locks([f"access in organisation {pk}" for pk in self._organizations])
        if not (_find_users(rows) <= users and _find_organizations(rows) <= self._organizations):
            raise AccessChangeRefused(gettext("Somebody else has changed this at the same moment. Try again."))
        self._is_unlimited = actor is None or _is_superuser(actor)
        if any(isinstance(row, User) for row in rows) and not self._is_unlimited:
            raise AccessChangeRefused(gettext("Only superusers change accounts."))
        self._actor_rights: frozenset[Right] = (
            frozenset() if actor is None or self._is_unlimited else effective_permissions(Caller(actor)).permissions
        )
        self._before = _read_state(self._organizations)

    def verify(self) -> None:
        """Check the change after its last write.

        Raises:
            AccessChangeRefused: The change breaks the rule.
        """
        after = _read_state(self._organizations)
        changed: frozenset[_StoredRole | _Assignment] = frozenset(
            (self._before.roles ^ after.roles) | (self._before.assignments ^ after.assignments)
        )
        if not self._is_unlimited:
            required = {right for item in changed for right in item.rights}
            required |= {(item.organization, Permission.MEMBERS_MANAGE.value) for item in changed}
            if missing := required - self._actor_rights:
                raise AccessChangeRefused(
                    gettext(
                        "You can only give, change and remove permissions you hold yourself. You lack {missing}."
                    ).format(missing=_describe(missing) or gettext("some of these"))
                )
        if lost := _describe(self._before.held_rights - after.held_rights):
            raise AccessChangeRefused(
                gettext("This removes the last active holder of {lost}. Give it to somebody else first.").format(
                    lost=lost
                )
            )


@contextmanager
def change_access(*, actor: AnyUser | None, rows: Iterable[Model]) -> Iterator[None]:
    """Make the changes of this block in one transaction, which is rolled back if they break the rule.

    Raises:
        AccessChangeRefused: The changes break the rule.
    """
    with transaction.atomic():
        change = AccessChange(actor=actor, rows=rows)
        yield
        change.verify()


def _is_superuser(actor: AnyUser) -> bool:
    return User.objects.filter(pk__in=[actor.pk], is_active=True, is_superuser=True).exists()


def _find_users(rows: Iterable[Model]) -> set[uuid.UUID]:
    """Return the users among the rows, and the current and new users of the memberships."""
    memberships = [row for row in rows if isinstance(row, Membership)]
    stored = Membership.objects.filter(pk__in=[row.pk for row in memberships]).values_list("user", flat=True)
    return {row.pk for row in rows if isinstance(row, User)} | {row.user_id for row in memberships} | set(stored)


def _find_organizations(rows: Iterable[Model]) -> set[uuid.UUID]:
    """Return the current and new organisations of the roles and memberships, and those of the users."""
    organizations: set[uuid.UUID] = set()
    for model in (Role, Membership):
        of_model = [row for row in rows if isinstance(row, model)]
        stored = model._default_manager.filter(pk__in=[row.pk for row in of_model])
        organizations |= {row.organization_id for row in of_model} | set(stored.values_list("organization", flat=True))
    users = [row.pk for row in rows if isinstance(row, User)]
    return organizations | set(Membership.objects.filter(user__in=users).values_list("organization", flat=True))


@identity.run_as(identity.STAFF)
def _read_state(organizations: set[uuid.UUID]) -> _State:
    """Read the state as the staff role: the change may have ended the access of the actor to the organisation."""
    stored = Role.objects.filter(organization__in=organizations)
    roles = {
        pk: _StoredRole(pk, organization, name, frozenset(permissions))
        for pk, organization, name, permissions in stored.values_list("pk", "organization", "name", "permissions")
    }
    with_permissions = [role.pk for role in roles.values() if role.permissions]
    assigned = Membership.roles.through.objects.filter(
        membership__organization__in=organizations, role__in=with_permissions
    )
    values = ("role", "membership", "membership__organization", "membership__user")
    flags = ("membership__is_active", "membership__user__is_active")
    assignments = (_Assignment(roles[role], *rest) for role, *rest in assigned.values_list(*values, *flags))
    return _State(frozenset(roles.values()), frozenset(assignments))


@identity.run_as(identity.STAFF)
def _describe(rights: set[Right]) -> str:
    """Describe permissions by organisation, as “create data sources” in Home. Deleted ones are left out."""
    organizations = Organization.objects.filter(pk__in={organization for organization, _ in rights}, deleted_at=None)
    parts = []
    for organization in organizations:
        permissions = describe_permissions(permission for pk, permission in rights if pk == organization.pk)
        parts.append(
            gettext("{permissions} in {organization}").format(permissions=permissions, organization=organization)
        )
    return "; ".join(parts)
