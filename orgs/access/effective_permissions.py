"""What somebody holds at this moment: the half of every access decision that is about people and their keys."""

import uuid
from dataclasses import dataclass

from django.db import connection

from .caller import Caller
from .permissions import SCOPE_FOR, Action, Permission


@dataclass(frozen=True, slots=True)
class EffectivePermissions:
    """organizations: those the user is an active member of. roles, teams: held and joined there; whoever is in a team
    is in all teams above it.

    permissions: organisation → what the roles held in it allow. scopes, sources: what the API key that the user acts by
    is narrowed to; None: not narrowed.
    """

    organizations: frozenset[uuid.UUID] = frozenset()
    roles: frozenset[uuid.UUID] = frozenset()
    teams: frozenset[uuid.UUID] = frozenset()
    permissions: frozenset[tuple[uuid.UUID, str]] = frozenset()
    scopes: frozenset[str] | None = None
    sources: frozenset[uuid.UUID] | None = None

    def where(self, permission: Permission) -> list[uuid.UUID]:
        """The organisations in which the user may do this."""
        return [organization for organization, held in self.permissions if held == permission.value]

    def covers(self, action: Action) -> bool:
        """Whether the key's scopes do."""
        needed = SCOPE_FOR.get(action)
        return self.scopes is None or needed is None or needed.value in self.scopes


_NOTHING = frozenset[uuid.UUID]()
# Of a user who acts by a key that does not count: that they are a superuser, say, does not help.
_BY_A_DEAD_KEY = EffectivePermissions(scopes=frozenset(), sources=_NOTHING)

# A team's parent in another organisation is passed over, with all above it. UNION leaves out what was found before, and
# so comes to an end where rows hold a cycle.
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
    """One query, and never a remembered answer: what was taken away a moment ago is gone.

    Read first instead of joined into every access query: those would span a dozen tables, and planning them took
    longer than the search itself. In SQL, for it is a part of every request, and the ORM takes ten times as long to
    put it together. A role or team counts only in the organisation that it belongs to.
    """
    user, key_id = caller.user, caller.key.pk if caller.key else None
    if user.pk is None or not user.is_active:
        return EffectivePermissions()
    with connection.cursor() as cursor:
        cursor.execute(_QUERY, {"user": user.pk, "key": key_id})
        held = cursor.fetchall()
    if key_id and not held:  # where the key counts, there is the membership that it belongs to
        return _BY_A_DEAD_KEY
    scopes, sources = held[0][4:] if held else (None, None)
    return EffectivePermissions(
        organizations=frozenset(row[0] for row in held),
        roles=frozenset(role for row in held for role in row[1]),
        teams=frozenset(team for row in held for team in row[2]),
        permissions=frozenset((row[0], each) for row in held for each in row[3]),
        scopes=None if scopes is None else frozenset(scopes),
        sources=None if sources is None else frozenset(sources),
    )
