"""What somebody holds at this moment: the half of every access decision that is about people."""

import uuid
from dataclasses import dataclass

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import F, OuterRef
from django.db.models.expressions import Func

from .models import Caller, Membership, Role, Team
from .permissions import Permission


@dataclass(frozen=True, slots=True)
class Standing:
    """organizations: those the user is an active member of. roles, teams: held and joined there.

    permissions: organisation → what the roles held in it allow.
    """

    organizations: frozenset[uuid.UUID] = frozenset()
    roles: frozenset[uuid.UUID] = frozenset()
    teams: frozenset[uuid.UUID] = frozenset()
    permissions: frozenset[tuple[uuid.UUID, str]] = frozenset()

    def where(self, permission: Permission) -> list[uuid.UUID]:
        """The organisations in which the user may do this."""
        return [organization for organization, held in self.permissions if held == permission.value]


def standing_of(user: Caller) -> Standing:
    """One query, and never a remembered answer: what was taken away a moment ago is gone.

    Read first instead of joined into every access query: those would span a dozen tables, and planning them took
    longer than the search itself. A role or team counts only in the organisation that it belongs to.
    """
    inside = {"memberships": OuterRef("pk"), "organization": OuterRef("organization")}
    roles = Role.objects.filter(**inside).order_by()
    rows = (
        Membership.objects.active_for(user)
        .order_by()
        .annotate(
            role_ids=ArraySubquery(roles.values("pk")),
            team_ids=ArraySubquery(Team.objects.filter(**inside).order_by().values("pk")),
            allowed=ArraySubquery(roles.values(each=Func(F("permissions"), function="unnest"))),
        )
        .values_list("organization_id", "role_ids", "team_ids", "allowed")
    )
    held = list(rows)
    return Standing(
        organizations=frozenset(organization for organization, *_ in held),
        roles=frozenset(role for _, roles, _, _ in held for role in roles),
        teams=frozenset(team for _, _, teams, _ in held for team in teams),
        permissions=frozenset((organization, each) for organization, _, _, allowed in held for each in allowed),
    )
