"""Why somebody may or may not do something with a data source, in sentences for those who manage it.

The verdict is the access rule's own (`visible_to`). What is derived here is the reason; a test states that both agree
in every case.
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
from orgs.models import Membership, Role, Team
from rag.models import Action, DataSource, Grant
from ragsite.postgres.models import as_uuid

logger = structlog.get_logger(__name__)

ACTIONS = (Action.QUERY, Action.INGEST, Action.MANAGE)
NOT_A_MEMBER = "this person is not a member of the organisation"
_MOST_NAMES = 5
_UNKNOWN = "the access rule decides so; if access is being changed at this moment, ask again"


@dataclass(frozen=True, slots=True)
class Verdict:
    """reason: one sentence, which says what is allowed or not, and which rule decides it."""

    action: Action
    allowed: bool
    reason: str


@dataclass(frozen=True, slots=True)
class _Because:
    allowed: bool
    reason: str


def explain(source: DataSource, person: User | None) -> tuple[Verdict, ...]:
    """For each action what the access rule decides now, and why. None: nobody whom the asker may know of."""
    return tuple(_verdict(source, person, action) for action in ACTIONS)


def person(reference: str, organizations: Iterable[UUID] | QuerySet[Any], *, asker: Caller) -> User | None:
    """The member of one of the organisations with this id or e-mail address. Whoever is a member elsewhere, or nowhere,
    is nobody: a manager must not learn which addresses the platform knows. Only who runs it is told about everybody."""
    key = as_uuid(reference)
    who = Q(pk=key) if key else Q(email=User.objects.normalize_email(reference))
    people = User.objects.filter(who)
    if not (
        asker.user.is_superuser and User.objects.filter(pk=asker.user.pk, is_active=True, is_superuser=True).exists()
    ):
        people = people.filter(pk__in=Membership.objects.filter(organization__in=organizations).values("user"))
    return people.first()


def _verdict(source: DataSource, person: User | None, action: Action) -> Verdict:
    rule = DataSource.objects.filter(pk=source.pk)
    allowed = person is not None and rule.visible_to(Caller(person), action).exists()
    because = _because(source, person, action)
    if because.allowed != allowed:  # somebody changed the rows in between, or the rule is not the one told here
        logger.warning("access_reason_disagrees", source=str(source.pk), action=action.value, allowed=allowed)
        because = _Because(allowed, _UNKNOWN)
    return Verdict(action, allowed, f"May {'' if allowed else 'not '}{action.value}: {because.reason}.")


def _because(source: DataSource, person: User | None, action: Action) -> _Because:
    if person is None:
        return _Because(False, NOT_A_MEMBER)
    if source.deleted_at is not None:
        return _Because(False, "the source is deleted")
    if not source.organization.is_active:
        return _Because(False, f"the organisation {source.organization} is closed")
    if not person.is_active:
        return _Because(False, f"the account of {person} is deactivated")
    if action is Action.MANAGE and person.is_superuser:
        return _Because(True, f"{person} is a superuser, and manages every source")
    membership = Membership.objects.filter(user=person, organization=source.organization_id).first()
    if membership is None:
        return _Because(False, NOT_A_MEMBER)
    case = _Case(source, person, membership, effective_permissions(Caller(person)))
    if source.organization_id not in case.standing.organizations:
        return _Because(False, f"the membership of {person} is inactive")
    return {Action.QUERY: case.query, Action.INGEST: case.ingest, Action.MANAGE: case.manage}[action]()


@dataclass(frozen=True, slots=True)
class _Case:
    """A member whose membership counts, and a source that is there."""

    source: DataSource
    person: User
    membership: Membership
    standing: EffectivePermissions

    def query(self) -> _Because:
        match self.source.visibility:
            case Visibility.PUBLIC:
                return _Because(True, "the source is public, open to every member of the organisation")
            case Visibility.PERSONAL:
                return self._personal()
            case Visibility.PRIVATE:
                return self._private()
            case Visibility.ROLE:
                return self._by_role()
        return self._by_team()

    def ingest(self) -> _Because:
        granting = self._roles_allowing(Permission.SOURCES_INGEST)
        if granting:
            return _Because(True, f"{self.person} holds {granting}, which allows to send documents")
        if self.source.owner_id == self.person.pk:
            return _Because(True, f"{self.person} owns the source")
        lacking = f"{self.person} holds no role that allows to send documents, and does not own the source"
        return _Because(False, lacking)

    def manage(self) -> _Because:
        granting = self._roles_allowing(Permission.SOURCES_MANAGE)
        if granting:
            return _Because(True, f"{self.person} holds {granting}, which allows to manage data sources")
        return _Because(False, f"{self.person} holds no role that allows to manage data sources")

    def _roles_allowing(self, permission: Permission) -> str:
        if self.source.organization_id not in self.standing.where(permission):
            return ""
        return _named("role", self._own_roles().filter(permissions__contains=[permission.value]))

    def _own_roles(self) -> QuerySet[Role]:
        return Role.objects.filter(pk__in=self.standing.roles, organization=self.source.organization_id)

    def _personal(self) -> _Because:
        if self.source.owner_id == self.person.pk:
            return _Because(True, f"the source is personal, and {self.person} owns it")
        owner = f"{self.source.owner} owns it" if self.source.owner else "it has no owner"
        return _Because(False, f"the source is personal, and {owner}")

    def _private(self) -> _Because:
        own = Grant.objects.filter(source=self.source, user=self.person.pk)
        open_to = "the source is open to chosen people, and "
        if grant := own.counting().first():
            return _Because(True, f"{open_to}{self.person} is one of them, by the grant {_terms(grant)}")
        return _Because(False, f"{open_to}there is no grant to this user{_ended(own)}")

    def _by_role(self) -> _Because:
        grants = Grant.objects.filter(source=self.source, role__organization=self.source.organization_id)
        counting = grants.counting()
        own = self._own_roles().filter(pk__in=counting.values("role")).first()
        if own:
            return _Because(True, f"the source is open to role `{own.name}`, which {self.person} holds")
        open_to = _open_to("role", Role.objects.filter(pk__in=counting.values("role")))
        ended = _ended(grants.filter(role__in=self.standing.roles))
        return _Because(False, f"{open_to}, and {self.person} holds no such role{ended}")

    def _by_team(self) -> _Because:
        grants = Grant.objects.filter(source=self.source, team__organization=self.source.organization_id)
        counting = grants.counting()
        granted = set(counting.filter(team__in=self.standing.teams).values_list("team", flat=True))
        if granted:
            return _Because(True, self._team_sentence(granted))
        open_to = _open_to("team", Team.objects.filter(pk__in=counting.values("team")))
        ended = _ended(grants.filter(team__in=self.standing.teams))
        return _Because(False, f"{open_to}, and {self.person} is in no such team{ended}")

    def _team_sentence(self, granted: set[UUID]) -> str:
        """Which of the granted teams it is, and by which joined team its member belongs to it."""
        teams = {team.pk: team for team in Team.objects.filter(organization=self.source.organization_id)}
        joined = set(self.membership.teams.values_list("pk", flat=True))
        if direct := sorted(teams[key].name for key in granted & joined):
            return f"the source is open to team `{direct[0]}`, which {self.person} is in"
        name = min(teams[key].name for key in granted)
        for key in joined:
            if above := granted & _above(key, teams):
                below, top = teams[key].name, teams[min(above)].name
                return (
                    f"the source is open to team `{top}`, and the membership of {self.person} has team `{below}`, "
                    "which is part of it"
                )
        return f"the source is open to team `{name}`, which {self.person} belongs to"


def _above(key: UUID, teams: dict[UUID, Team]) -> set[UUID]:
    """The teams that this one is part of, however far up; rows that go round in a circle end."""
    found: set[UUID] = set()
    team = teams.get(key)
    while team is not None and team.parent_id is not None and team.parent_id not in found:
        found.add(team.parent_id)
        team = teams.get(team.parent_id)
    return found


def _ended(grants: QuerySet[Grant]) -> str:
    """What to say of a grant that would count, had it not ended."""
    last = grants.filter(expires_at__lte=timezone.now()).order_by("-expires_at").first()
    if last is None or last.expires_at is None:
        return ""
    return f"; the grant of {_date(last.granted_at)} ended on {_date(last.expires_at)}"


def _terms(grant: Grant) -> str:
    until = f" until {_date(grant.expires_at)}" if grant.expires_at else ""
    return f"of {_date(grant.granted_at)}{until}"


def _date(when: datetime.datetime) -> str:
    return f"{when.day} {when:%B %Y}"


def _open_to(kind: str, chosen: Iterable[Role | Team]) -> str:
    names = _named(kind, chosen)
    return f"the source is open to {names}" if names else f"the source is open to chosen {kind}s, and none is chosen"


def _named(kind: str, chosen: Iterable[Role | Team]) -> str:
    """`role `a`` or `roles `a`, `b``; empty if there are none."""
    names: Sequence[str] = sorted(each.name for each in chosen)
    shown = ", ".join(f"`{name}`" for name in names[:_MOST_NAMES])
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{kind if len(names) == 1 else f'{kind}s'} {shown}{more}" if names else ""
