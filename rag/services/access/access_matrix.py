"""Who can query which data source of an organisation, and what a person's joining a team would change."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils.translation import gettext

from accounts.models import User
from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from orgs.models import Membership, Organization, Team
from rag.models import Action, DataSource, Grant

MAX_PEOPLE, MAX_SOURCES = 25, 25


@dataclass(frozen=True, slots=True)
class Cell:
    """Whether a person can query a source; the reason is a part of a sentence."""

    source: DataSource
    is_allowed: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Row:
    """What one person can query."""

    membership: Membership
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """People and sources, at most MAX_PEOPLE and MAX_SOURCES of them.

    Attributes:
        has_more_people: Whether the organisation has more people than are shown.
        has_more_sources: Whether it has more sources.
    """

    sources: tuple[DataSource, ...]
    rows: tuple[Row, ...]
    has_more_people: bool
    has_more_sources: bool


def build_matrix(
    sources: QuerySet[DataSource], organization: Organization, *, search: str = "", source_search: str = ""
) -> Matrix:
    """Return the matrix of an organisation.

    Args:
        sources: The data sources that the caller manages.
        organization: The organisation.
        search: A part of the e-mail address of the people who are shown; empty for all.
        source_search: A part of the name of the sources that are shown; empty for all.
    """
    matching = sources.filter(organization=organization)
    if source_search:
        matching = matching.filter(name__icontains=source_search)
    shown = list(matching.order_by("name", "pk")[: MAX_SOURCES + 1])
    people = Membership.objects.filter(organization=organization).select_related("user").order_by("user__email")
    if search:
        people = people.filter(user__email__icontains=search)
    members = list(people.prefetch_related("roles", "teams")[: MAX_PEOPLE + 1])
    columns = tuple(shown[:MAX_SOURCES])
    grants = list(Grant.objects.unexpired().filter(source__in=columns).select_related("role", "team"))
    rows = tuple(_row(membership, columns, grants) for membership in members[:MAX_PEOPLE])
    return Matrix(columns, rows, len(members) > MAX_PEOPLE, len(shown) > MAX_SOURCES)


def preview_team(sources: QuerySet[DataSource], person: User, team: Team) -> list[DataSource]:
    """Return the sources that the person could query in addition if they joined the team."""
    team_ids = [team.pk, *_ancestor_ids(team)]
    granted = Grant.objects.unexpired().filter(team__in=team_ids)
    opened = sources.filter(
        organization=team.organization_id, visibility=Visibility.TEAM, pk__in=granted.values("source")
    )
    already = DataSource.objects.visible_to(Caller(person), Action.QUERY)
    return list(opened.exclude(pk__in=already.values("pk")).order_by("name", "pk")[:MAX_SOURCES])


def _row(membership: Membership, sources: Sequence[DataSource], grants: Sequence[Grant]) -> Row:
    """Ask the access rule for the verdicts, and derive the reasons."""
    visible = DataSource.objects.visible_to(Caller(membership.user), Action.QUERY)
    allowed = set(visible.filter(pk__in=[source.pk for source in sources]).values_list("pk", flat=True))
    cells = []
    for source in sources:
        is_allowed = source.pk in allowed
        source_grants = [grant for grant in grants if grant.source_id == source.pk]
        reason = _reason(membership, source, source_grants) if is_allowed else _refusal(membership, source)
        cells.append(Cell(source, is_allowed, reason))
    return Row(membership, tuple(cells))


def _reason(membership: Membership, source: DataSource, grants: Sequence[Grant]) -> str:
    match source.visibility:
        case Visibility.PUBLIC:
            return gettext("it is open to every member")
        case Visibility.PERSONAL:
            return gettext("they own it")
        case Visibility.PRIVATE:
            return gettext("they are chosen")
        case Visibility.ROLE:
            role_ids = {role.pk for role in membership.roles.all()}
            names = sorted(grant.role.name for grant in grants if grant.role and grant.role_id in role_ids)
            return gettext("they have the role {value}").format(value=", ".join(names))
    joined = {team.pk for team in membership.teams.all()}
    names = sorted(grant.team.name for grant in grants if grant.team and grant.team_id in joined)
    return (
        gettext("they are in the team {value}").format(value=", ".join(names))
        if names
        else gettext("their team is a part of a chosen team")
    )


def _refusal(membership: Membership, source: DataSource) -> str:
    if not (membership.is_active and membership.user.is_active):
        return gettext("the account or the membership is inactive")
    return {
        Visibility.PERSONAL: gettext("only its owner can"),
        Visibility.PRIVATE: gettext("they are not chosen"),
        Visibility.ROLE: gettext("they have none of the chosen roles"),
        Visibility.TEAM: gettext("they are in none of the chosen teams"),
    }.get(Visibility(source.visibility), gettext("the organisation is closed"))


def _ancestor_ids(team: Team) -> list[uuid.UUID]:
    """Return the ids of the teams that contain this one. Cycles in the stored teams end the search."""
    ancestor_ids: list[uuid.UUID] = []
    parent_id = team.parent_id
    while parent_id and parent_id not in ancestor_ids:
        ancestor_ids.append(parent_id)
        parent_id = Team.objects.filter(pk=parent_id).values_list("parent", flat=True).first()
    return ancestor_ids
