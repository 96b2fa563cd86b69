"""The permissions that a caller has at this moment, from memberships, roles, teams and the API key."""

import uuid
from dataclasses import dataclass

from django.db import connection

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
    """

    organizations: frozenset[uuid.UUID] = frozenset()
    roles: frozenset[uuid.UUID] = frozenset()
    teams: frozenset[uuid.UUID] = frozenset()
    permissions: frozenset[tuple[uuid.UUID, str]] = frozenset()
    scopes: frozenset[str] | None = None
    sources: frozenset[uuid.UUID] | None = None

    def organizations_with(self, permission: Permission) -> list[uuid.UUID]:
        """The organisations in which the user has this permission."""
        return [organization for organization, value in self.permissions if value == permission.value]

    def allows(self, action: Action) -> bool:
        """Whether the scopes of the API key, if there is one, include this action."""
        scope = SCOPE_FOR.get(action)
        return self.scopes is None or scope is None or scope.value in self.scopes


# For a caller whose API key is not usable: not even the rights of a superuser apply.
_NO_PERMISSIONS = EffectivePermissions(scopes=frozenset(), sources=frozenset())

# A parent team in another organisation is ignored, together with the teams above it. UNION removes duplicates, so the
# recursion ends even if the rows contain a cycle.
_QUERY = """
SELECT m.organization_id,
       ARRAY(SELECT r.id FROM orgs_membership_roles h JOIN orgs_role r ON r.id = h.role_id
             WHERE h.membership_id = m.id AND r.organization_id = m.organization_id),
       ARRAY(WITH RECURSIVE joined AS (
                 SELECT t.id, t.parent_id FROM orgs_membership_teams j JOIN orgs_team t ON t.id = j.team_id
                 WHERE j.membership_id = m.id AND t.organization_id = m.organization_id
                 UNION
                 SELECT t.id, t.parent_id FROM joined JOIN orgs_team t ON t.id = joined.parent_id
                 WHERE t.organization_id = m.organization_id)
             SELECT id FROM joined),
       ARRAY(SELECT unnest(r.permissions) FROM orgs_membership_roles h JOIN orgs_role r ON r.id = h.role_id
             WHERE h.membership_id = m.id AND r.organization_id = m.organization_id),
       k.scopes, k.source_ids
FROM orgs_membership m
JOIN orgs_organization o ON o.id = m.organization_id
JOIN accounts_user u ON u.id = m.user_id
LEFT JOIN (SELECT k.user_id, k.scopes, k.source_ids
           FROM orgs_apikey k
           JOIN orgs_membership km ON km.user_id = k.user_id AND km.organization_id = k.organization_id
           JOIN orgs_organization ko ON ko.id = k.organization_id
           WHERE k.id = %(key)s AND k.revoked_at IS NULL
             AND (k.expires_at IS NULL OR k.expires_at > statement_timestamp())
             AND km.is_active AND ko.is_active) k ON k.user_id = m.user_id
WHERE m.user_id = %(user)s AND m.is_active AND o.is_active AND u.is_active
  AND (%(key)s::uuid IS NULL OR k.user_id IS NOT NULL)
"""


def effective_permissions(caller: Caller) -> EffectivePermissions:
    """Read the caller's permissions. Nothing is cached: a change has effect with the next call.

    This is a query of its own, because an access query that joined all of these tables took longer to plan than the
    search that it guards. It is written in SQL, because every request runs it and the ORM takes ten times as long to
    build it. A role or team has an effect only in its own organisation.
    """
    user, key_id = caller.user, caller.key.pk if caller.key else None
    if user.pk is None or not user.is_active:
        return EffectivePermissions()
    with connection.cursor() as cursor:
        cursor.execute(_QUERY, {"user": user.pk, "key": key_id})
        rows = cursor.fetchall()
    if key_id and not rows:  # a usable key has at least the membership that it belongs to
        return _NO_PERMISSIONS
    scopes, sources = rows[0][4:] if rows else (None, None)
    return EffectivePermissions(
        organizations=frozenset(row[0] for row in rows),
        roles=frozenset(role for row in rows for role in row[1]),
        teams=frozenset(team for row in rows for team in row[2]),
        permissions=frozenset((row[0], permission) for row in rows for permission in row[3]),
        scopes=None if scopes is None else frozenset(scopes),
        sources=None if sources is None else frozenset(sources),
    )
