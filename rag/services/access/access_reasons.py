"""The reasons why a member of an organisation may or may not do something with one of its data sources."""

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext, ngettext

from accounts.models import User
from orgs.access.effective_permissions import EffectivePermissions
from orgs.access.permissions import Permission, Visibility
from orgs.models import Membership, Role, Team
from rag.models import Action, DataSource, Grant

_MAX_NAMES = 5


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether an action is allowed, and the reason as a clause."""

    is_allowed: bool
    reason: str


def allowed(reason: str) -> Decision:
    """Return the decision that allows an action for this reason."""
    return Decision(is_allowed=True, reason=reason)


def denied(reason: str) -> Decision:
    """Return the decision that denies an action for this reason."""
    return Decision(is_allowed=False, reason=reason)


@dataclass(frozen=True, slots=True)
class MemberAccess:
    """A member of the organisation of a data source that is not deleted."""

    source: DataSource
    person: User
    membership: Membership
    permissions: EffectivePermissions

    def decide(self, action: Action) -> Decision:
        """Return whether the member may take the action, and why."""
        match action:
            case Action.QUERY:
                return self._decide_query()
            case Action.INGEST:
                return self._decide_ingest()
        return self._decide_manage()

    def _decide_query(self) -> Decision:
        match self.source.visibility:
            case Visibility.PUBLIC:
                return allowed(gettext("the source is public, open to every member of the organisation"))
            case Visibility.PERSONAL:
                return self._decide_personal()
            case Visibility.PRIVATE:
                return self._decide_by_user_grants()
            case Visibility.ROLE:
                return self._decide_by_role_grants()
        return self._decide_by_team_grants()

    def _decide_ingest(self) -> Decision:
        granting = self._roles_allowing(Permission.SOURCES_INGEST)
        if granting:
            return allowed(
                gettext("{person} holds {granting}, which allows sending documents").format(
                    person=self.person, granting=granting
                ),
            )
        if self.source.owner_id == self.person.pk:
            return allowed(gettext("{person} owns the source").format(person=self.person))
        lacking = gettext("{person} holds no role that allows sending documents, and does not own the source").format(
            person=self.person
        )
        return denied(lacking)

    def _decide_manage(self) -> Decision:
        granting = self._roles_allowing(Permission.SOURCES_MANAGE)
        if granting:
            return allowed(
                gettext("{person} holds {granting}, which allows managing data sources").format(
                    person=self.person, granting=granting
                ),
            )
        if self.source.owner_id == self.person.pk:
            return allowed(gettext("{person} is the owner of the source").format(person=self.person))
        lacking = gettext(
            "{person} holds no role that allows managing data sources, and is not the owner of the source"
        ).format(person=self.person)
        return denied(lacking)

    def _roles_allowing(self, permission: Permission) -> str:
        if self.source.organization_id not in self.permissions.organizations_with(permission):
            return ""
        return _join_names("role", self._roles_here().filter(permissions__contains=[permission.value]))

    def _roles_here(self) -> QuerySet[Role]:
        return Role.objects.filter(pk__in=self.permissions.roles, organization=self.source.organization_id)

    def _decide_personal(self) -> Decision:
        if self.source.owner_id == self.person.pk:
            return allowed(gettext("the source is personal, and {person} owns it").format(person=self.person))
        owner = (
            gettext("{owner} owns it").format(owner=self.source.owner)
            if self.source.owner
            else gettext("it has no owner")
        )
        return denied(gettext("the source is personal, and {owner}").format(owner=owner))

    def _decide_by_user_grants(self) -> Decision:
        grants = Grant.objects.filter(source=self.source, user=self.person.pk)
        open_to = gettext("the source is open to chosen people, and ")
        if grant := grants.unexpired().first():
            return allowed(
                gettext("{open_to}{person} is one of them, by the grant {grant_period}").format(
                    open_to=open_to, person=self.person, grant_period=_grant_period(grant)
                ),
            )
        return denied(
            gettext("{open_to}there is no grant to this user{expired_grant}").format(
                open_to=open_to, expired_grant=_expired_grant_clause(grants)
            ),
        )

    def _decide_by_role_grants(self) -> Decision:
        grants = Grant.objects.filter(source=self.source, role__organization=self.source.organization_id)
        unexpired = grants.unexpired()
        role = self._roles_here().filter(pk__in=unexpired.values("role")).first()
        if role:
            return allowed(
                gettext("the source is open to role `{name}`, which {person} holds").format(
                    name=role.name, person=self.person
                ),
            )
        expired = _expired_grant_clause(grants.filter(role__in=self.permissions.roles))
        names = _join_names("role", Role.objects.filter(pk__in=unexpired.values("role")))
        if not names:
            return denied(
                gettext("the source is open to chosen roles, but no role is chosen{expired}").format(expired=expired),
            )
        return denied(
            gettext("the source is open to {names}, and {person} holds no such role{expired}").format(
                names=names, person=self.person, expired=expired
            ),
        )

    def _decide_by_team_grants(self) -> Decision:
        grants = Grant.objects.filter(source=self.source, team__organization=self.source.organization_id)
        unexpired = grants.unexpired()
        granted_team_ids = set(unexpired.filter(team__in=self.permissions.teams).values_list("team", flat=True))
        if granted_team_ids:
            return allowed(self._team_reason(granted_team_ids))
        expired = _expired_grant_clause(grants.filter(team__in=self.permissions.teams))
        names = _join_names("team", Team.objects.filter(pk__in=unexpired.values("team")))
        if not names:
            return denied(
                gettext("the source is open to chosen teams, but no team is chosen{expired}").format(expired=expired),
            )
        return denied(
            gettext("the source is open to {names}, and {person} is in no such team{expired}").format(
                names=names, person=self.person, expired=expired
            ),
        )

    def _team_reason(self, granted_team_ids: set[UUID]) -> str:
        """Name the granted team, and the team inside it that the person has joined, if that is another one."""
        teams = {team.pk: team for team in Team.objects.filter(organization=self.source.organization_id)}
        joined_team_ids = set(self.membership.teams.values_list("pk", flat=True))
        if direct := sorted(teams[team_id].name for team_id in granted_team_ids & joined_team_ids):
            return gettext("the source is open to team `{team}`, which {person} is in").format(
                team=direct[0], person=self.person
            )
        name = min(teams[team_id].name for team_id in granted_team_ids)
        for team_id in joined_team_ids:
            if ancestors := granted_team_ids & _ancestors(team_id, teams):
                below, top = teams[team_id].name, teams[min(ancestors)].name
                return gettext(
                    "the source is open to team `{top}`, and the membership of {person} has team `{below}`, "
                    "which is part of it"
                ).format(top=top, person=self.person, below=below)
        return gettext("the source is open to team `{name}`, which {person} belongs to").format(
            name=name, person=self.person
        )


def _ancestors(key: UUID, teams: dict[UUID, Team]) -> set[UUID]:
    """Return the teams that contain this one, directly or not. Cycles in the stored teams end the search."""
    ancestors: set[UUID] = set()
    team = teams.get(key)
    while team is not None and team.parent_id is not None and team.parent_id not in ancestors:
        ancestors.add(team.parent_id)
        team = teams.get(team.parent_id)
    return ancestors


def _expired_grant_clause(grants: QuerySet[Grant]) -> str:
    """Return a clause about the latest grant that has expired; empty if no grant has."""
    last = grants.filter(expires_at__lte=timezone.now()).order_by("-expires_at").first()
    if last is None or last.expires_at is None:
        return ""
    return gettext("; the grant of {granted_on} ended on {ended_on}").format(
        granted_on=_format_date(last.granted_at), ended_on=_format_date(last.expires_at)
    )


def _grant_period(grant: Grant) -> str:
    granted = _format_date(grant.granted_at)
    if grant.expires_at is None:
        return gettext("of {date}").format(date=granted)
    return gettext("of {date} until {end}").format(date=granted, end=_format_date(grant.expires_at))


def _format_date(when: datetime.datetime) -> str:
    return date_format(when, gettext("j F Y"))


def _join_names(kind: str, chosen: Iterable[Role | Team]) -> str:
    """Return a list such as "roles `a`, `b`"; empty if nothing is chosen."""
    names: Sequence[str] = sorted(item.name for item in chosen)
    shown = ", ".join(f"`{name}`" for name in names[:_MAX_NAMES])
    more = gettext(" and {number} more").format(number=len(names) - _MAX_NAMES) if len(names) > _MAX_NAMES else ""
    label = ngettext("role", "roles", len(names)) if kind == "role" else ngettext("team", "teams", len(names))
    return f"{label} {shown}{more}" if names else ""
