"""The permissions that a caller has at this moment, from memberships, roles, teams and the API key."""

import uuid
from dataclasses import dataclass

from ragsite.postgres.base import read_rows

from .caller import Caller
from .permissions import SCOPE_FOR, Action, Permission


@dataclass(frozen=True, slots=True)
class EffectivePermissions:
    """What a caller may do, and where.

    Attributes:
        organizations: Those in which the user is an active member.
        roles: The roles that the user has in these organisations.
        teams: The teams that the user has joined, and all teams that contain them.
        permissions: Pairs of an organisation and a permission that a role of the user gives there.
        scopes: The scopes of the API key. None if the caller has no key, and so is not limited.
        sources: The data sources that the API key is restricted to. None for no restriction.
        only_organization: The organisation that the API key is restricted to. None for no restriction.
    """

    organizations: frozenset[uuid.UUID] = frozenset()
    roles: frozenset[uuid.UUID] = frozenset()
    teams: frozenset[uuid.UUID] = frozenset()
    permissions: frozenset[tuple[uuid.UUID, str]] = frozenset()
    scopes: frozenset[str] | None = None
    sources: frozenset[uuid.UUID] | None = None
    only_organization: uuid.UUID | None = None

    @property
    def source_ids_or_organization_id(self) -> frozenset[uuid.UUID] | None:
        """What the API key is restricted to: ids of data sources, or without these only the id of its organisation.

        Ids are unique across tables, so a conversation can store either kind and compare it as a set. None if the key
        is not restricted.
        """
        if self.sources is None and self.only_organization is not None:
            return frozenset({self.only_organization})
        return self.sources

    def organizations_with(self, permission: Permission) -> list[uuid.UUID]:
        """Return the organisations in which the user has this permission."""
        return [organization for organization, value in self.permissions if value == permission.value]

    def allows(self, action: Action) -> bool:
        """Return whether the scopes of the API key, if there is one, include this action."""
        scope = SCOPE_FOR.get(action)
        return self.scopes is None or scope is None or scope.value in self.scopes


# For a caller whose API key is not usable: not even the rights of a superuser apply.
_NO_PERMISSIONS = EffectivePermissions(scopes=frozenset(), sources=frozenset())

_QUERY = "SELECT * FROM orgs_effective_permissions(%s, %s)"


def effective_permissions(caller: Caller) -> EffectivePermissions:
    """Read the caller's permissions. Nothing is cached: a change has effect with the next call.

    The function in the database (last changed in orgs/migrations/sql/staff_directory.sql) keeps its plan, and reads
    memberships that a request cannot read otherwise.
    """
    user, key_id = caller.user, caller.key.pk if caller.key else None
    if user.pk is None or not user.is_active:
        return EffectivePermissions()
    rows = read_rows(_QUERY, [user.pk, key_id])
    if key_id and not rows:  # a usable key has at least the membership that it belongs to
        return _NO_PERMISSIONS
    scopes, sources, only_organization = rows[0][4:] if rows else (None, None, None)
    return EffectivePermissions(
        organizations=frozenset(row[0] for row in rows),
        roles=frozenset(role for row in rows for role in row[1]),
        teams=frozenset(team for row in rows for team in row[2]),
        permissions=frozenset((row[0], permission) for row in rows for permission in row[3]),
        scopes=None if scopes is None else frozenset(scopes),
        sources=None if sources is None else frozenset(sources),
        only_organization=only_organization,
    )
