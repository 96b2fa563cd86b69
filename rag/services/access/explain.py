"""Explains who may do what with a data source, and why, in sentences for the people who manage it.

The access rule itself (`visible_to`) gives the verdict. The reason is derived here; a test proves that both agree.
"""

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.models import User
from orgs.access.caller import Caller
from orgs.access.effective_permissions import EffectivePermissions, effective_permissions
from orgs.access.permissions import Permission, Visibility
from orgs.models import Membership, Organization, Role, Team
from rag.errors import NotAllowed
from rag.models import Action, DataSource, Grant
from ragsite.postgres.models import as_uuid

logger = structlog.get_logger(__name__)

ACTIONS = (Action.QUERY, Action.INGEST, Action.MANAGE)
NOT_A_MEMBER = "this person is not a member of the organisation"
_MAX_NAMES = 5
_MAY_NOT_EXPLAIN_OTHERS = (
    "You need the permission sources.manage in this organisation to see what other people may do with its data sources."
)
_CHANGING = "access is being changed at this moment; ask again"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether one action is allowed.

    Attributes:
        reason: One sentence that says what is allowed or not, and which rule decides it.
    """

    action: Action
    allowed: bool
    reason: str


@dataclass(frozen=True, slots=True)
class _Decision:
    allowed: bool
    reason: str


def explain_access(source: DataSource, person: User | None) -> tuple[Verdict, ...]:
    """Return what the access rule decides now for each action, and why.

    Args:
        source: The data source.
        person: The user whose access is explained. None stands for somebody the asker must not learn about.
    """
    return tuple(_verdict(source, person, action) for action in ACTIONS)


def find_person(reference: str, organizations: Iterable[UUID] | QuerySet[Any], *, asker: Caller) -> User | None:
    """Return the member of one of the organisations with this id or e-mail address; None if nobody has it.

    Members of other organisations are not found: a manager must not learn which addresses have an account. Superusers
    find everybody. Who manages sources only as their owner finds only themselves: an explanation names the roles and
    teams of a member.

    Raises:
        NotAllowed: If the asker has the permission sources.manage in none of the organisations, and asks about somebody
            else.
    """
    user_id = as_uuid(reference)
    people = User.objects.filter(Q(pk=user_id) if user_id else Q(email=User.objects.normalize_email(reference)))
    if not (
        asker.user.is_superuser and User.objects.filter(pk=asker.user.pk, is_active=True, is_superuser=True).exists()
    ):
        if asker.user.pk and people.filter(pk=asker.user.pk).exists():
            return people.first()
        managed = set(effective_permissions(asker).organizations_with(Permission.SOURCES_MANAGE))
        explained = Organization.objects.filter(pk__in=organizations).filter(pk__in=managed)
        if not explained.exists():
            raise NotAllowed(_MAY_NOT_EXPLAIN_OTHERS)
        people = people.filter(pk__in=Membership.objects.filter(organization__in=explained).values("user"))
    return people.first()


def _verdict(source: DataSource, person: User | None, action: Action) -> Verdict:
    rule = DataSource.objects.filter(pk=source.pk)
    allowed = person is not None and rule.visible_to(Caller(person), action).exists()
    decision = _decide(source, person, action)
    if decision.allowed != allowed:  # rows were changed in between, or the reasons below miss a rule
        logger.warning("access_reason_disagrees", source=str(source.pk), action=action.value, allowed=allowed)
        decision = _Decision(allowed, _CHANGING)
    return Verdict(action, allowed, f"May {'' if allowed else 'not '}{action.value}: {decision.reason}.")


def _decide(source: DataSource, person: User | None, action: Action) -> _Decision:
    """Derive from the stored data whether the action is allowed, and the reason."""
    if person is None:
        return _Decision(False, NOT_A_MEMBER)
    if source.deleted_at is not None:
        return _Decision(False, "the source is deleted")
    if not source.organization.is_active:
        return _Decision(False, f"the organisation {source.organization} is closed")
    if not person.is_active:
        return _Decision(False, f"the account of {person} is deactivated")
    if action is Action.MANAGE and person.is_superuser:
        return _Decision(True, f"{person} is a superuser, and manages every source")
    membership = Membership.objects.filter(user=person, organization=source.organization_id).first()
    if membership is None:
        return _Decision(False, NOT_A_MEMBER)
    case = _AccessCase(source, person, membership, effective_permissions(Caller(person)))
    if source.organization_id not in case.permissions.organizations:
        return _Decision(False, f"the membership of {person} is inactive")
    return {Action.QUERY: case.query, Action.INGEST: case.ingest, Action.MANAGE: case.manage}[action]()


@dataclass(frozen=True, slots=True)
class _AccessCase:
    """A member of the organisation of a data source that is not deleted."""

    source: DataSource
    person: User
    membership: Membership
    permissions: EffectivePermissions

    def query(self) -> _Decision:
        match self.source.visibility:
            case Visibility.PUBLIC:
                return _Decision(True, "the source is public, open to every member of the organisation")
            case Visibility.PERSONAL:
                return self._personal()
            case Visibility.PRIVATE:
                return self._private()
            case Visibility.ROLE:
                return self._by_role()
        return self._by_team()

    def ingest(self) -> _Decision:
        granting = self._roles_allowing(Permission.SOURCES_INGEST)
        if granting:
            return _Decision(True, f"{self.person} holds {granting}, which allows to send documents")
        if self.source.owner_id == self.person.pk:
            return _Decision(True, f"{self.person} owns the source")
        lacking = f"{self.person} holds no role that allows to send documents, and does not own the source"
        return _Decision(False, lacking)

    def manage(self) -> _Decision:
        granting = self._roles_allowing(Permission.SOURCES_MANAGE)
        if granting:
            return _Decision(True, f"{self.person} holds {granting}, which allows to manage data sources")
        if self.source.owner_id == self.person.pk:
            return _Decision(True, f"{self.person} is the owner of the source")
        lacking = f"{self.person} holds no role that allows to manage data sources, and is not the owner of the source"
        return _Decision(False, lacking)

    def _roles_allowing(self, permission: Permission) -> str:
        if self.source.organization_id not in self.permissions.organizations_with(permission):
            return ""
        return _named("role", self._roles_here().filter(permissions__contains=[permission.value]))

    def _roles_here(self) -> QuerySet[Role]:
        return Role.objects.filter(pk__in=self.permissions.roles, organization=self.source.organization_id)

    def _personal(self) -> _Decision:
        if self.source.owner_id == self.person.pk:
            return _Decision(True, f"the source is personal, and {self.person} owns it")
        owner = f"{self.source.owner} owns it" if self.source.owner else "it has no owner"
        return _Decision(False, f"the source is personal, and {owner}")

    def _private(self) -> _Decision:
        grants = Grant.objects.filter(source=self.source, user=self.person.pk)
        open_to = "the source is open to chosen people, and "
        if grant := grants.unexpired().first():
            return _Decision(True, f"{open_to}{self.person} is one of them, by the grant {_period(grant)}")
        return _Decision(False, f"{open_to}there is no grant to this user{_ended(grants)}")

    def _by_role(self) -> _Decision:
        grants = Grant.objects.filter(source=self.source, role__organization=self.source.organization_id)
        unexpired = grants.unexpired()
        role = self._roles_here().filter(pk__in=unexpired.values("role")).first()
        if role:
            return _Decision(True, f"the source is open to role `{role.name}`, which {self.person} holds")
        open_to = _open_to("role", Role.objects.filter(pk__in=unexpired.values("role")))
        ended = _ended(grants.filter(role__in=self.permissions.roles))
        return _Decision(False, f"{open_to}, and {self.person} holds no such role{ended}")

    def _by_team(self) -> _Decision:
        grants = Grant.objects.filter(source=self.source, team__organization=self.source.organization_id)
        unexpired = grants.unexpired()
        granted = set(unexpired.filter(team__in=self.permissions.teams).values_list("team", flat=True))
        if granted:
            return _Decision(True, self._team_sentence(granted))
        open_to = _open_to("team", Team.objects.filter(pk__in=unexpired.values("team")))
        ended = _ended(grants.filter(team__in=self.permissions.teams))
        return _Decision(False, f"{open_to}, and {self.person} is in no such team{ended}")

    def _team_sentence(self, granted: set[UUID]) -> str:
        """Name the granted team, and the team inside it that the person has joined, if that is another one."""
        teams = {team.pk: team for team in Team.objects.filter(organization=self.source.organization_id)}
        joined = set(self.membership.teams.values_list("pk", flat=True))
        if direct := sorted(teams[key].name for key in granted & joined):
            return f"the source is open to team `{direct[0]}`, which {self.person} is in"
        name = min(teams[key].name for key in granted)
        for key in joined:
            if ancestors := granted & _ancestors(key, teams):
                below, top = teams[key].name, teams[min(ancestors)].name
                return (
                    f"the source is open to team `{top}`, and the membership of {self.person} has team `{below}`, "
                    "which is part of it"
                )
        return f"the source is open to team `{name}`, which {self.person} belongs to"


def _ancestors(key: UUID, teams: dict[UUID, Team]) -> set[UUID]:
    """Return the teams that contain this one, directly or not. Cycles in the stored teams end the search."""
    ancestors: set[UUID] = set()
    team = teams.get(key)
    while team is not None and team.parent_id is not None and team.parent_id not in ancestors:
        ancestors.add(team.parent_id)
        team = teams.get(team.parent_id)
    return ancestors


def _ended(grants: QuerySet[Grant]) -> str:
    """Return a clause about the latest grant that has expired; empty if no grant has."""
    last = grants.filter(expires_at__lte=timezone.now()).order_by("-expires_at").first()
    if last is None or last.expires_at is None:
        return ""
    return f"; the grant of {_date(last.granted_at)} ended on {_date(last.expires_at)}"


def _period(grant: Grant) -> str:
    until = f" until {_date(grant.expires_at)}" if grant.expires_at else ""
    return f"of {_date(grant.granted_at)}{until}"


def _date(when: datetime.datetime) -> str:
    return f"{when.day} {when:%B %Y}"


def _open_to(kind: str, chosen: Iterable[Role | Team]) -> str:
    names = _named(kind, chosen)
    return f"the source is open to {names}" if names else f"the source is open to chosen {kind}s, and none is chosen"


def _named(kind: str, chosen: Iterable[Role | Team]) -> str:
    """Return a list such as "roles `a`, `b`"; empty if nothing is chosen."""
    names: Sequence[str] = sorted(item.name for item in chosen)
    shown = ", ".join(f"`{name}`" for name in names[:_MAX_NAMES])
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return f"{kind if len(names) == 1 else f'{kind}s'} {shown}{more}" if names else ""
