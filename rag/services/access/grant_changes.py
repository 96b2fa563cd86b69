"""Changes of one person's access to one data source, as the access matrix offers them: grants that open or close it.

Roles and teams of people are changed on their memberships, by those who may change members.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext

from accounts.models import User
from orgs.access.permissions import Visibility
from orgs.models import Membership, Team
from rag.errors import InvalidRequest
from rag.models import DataSource, Grant
from rag.models.grants import MAX_GRANTS_PER_KIND, Grantee
from ragsite.postgres.locks import advisory_xact_locks


@dataclass(frozen=True, slots=True)
class Change:
    """A change that would open or close the source.

    Attributes:
        is_opening: Whether the person, role or team gets access; otherwise it loses it.
        kind: `user`, `role` or `team`.
        grantee_id: The id of the person, role or team.
        name: Its address or name.
        people: How many active members it concerns.
    """

    is_opening: bool
    kind: str
    grantee_id: UUID
    name: str
    people: int

    @property
    def key(self) -> str:
        """What names the change in a form."""
        return f"{'open' if self.is_opening else 'close'}-{self.kind}-{self.grantee_id}"


def list_changes(source: DataSource, membership: Membership) -> list[Change]:
    """Return the changes that concern this person: for them, or for their roles or teams.

    A source with another visibility has none: public ones are open to all members, personal ones to their owner.
    """
    kinds = {visibility: kind for kind, visibility in Grant.VISIBILITY_BY_KIND.items()}
    kind = kinds.get(Visibility(source.visibility))
    if kind is None:
        return []
    granted = set(source.grants.unexpired().exclude(**{kind: None}).values_list(kind, flat=True))
    return [
        Change(
            is_opening=grantee.pk not in granted,
            kind=kind,
            grantee_id=grantee.pk,
            name=grantee.email if isinstance(grantee, User) else grantee.name,
            people=_count_people(kind, grantee),
        )
        for grantee in _grantees(kind, membership)
    ]


@transaction.atomic
def make_change(source: DataSource, membership: Membership, key: str, *, actor: User) -> Change | None:
    """Make the change with this key.

    Returns:
        The change; None if it is not possible any more, because somebody else has changed the access meanwhile.

    Raises:
        InvalidRequest: If the source has as many grants of this kind as it can have. Nothing is changed.
    """
    advisory_xact_locks([f"grants of {source.pk}"])
    change = next((change for change in list_changes(source, membership) if change.key == key), None)
    if change is None:
        return None
    grants = source.grants.filter(**{change.kind: change.grantee_id})
    if not change.is_opening:
        grants.delete()
        return change
    grants.delete()  # an expired one
    if source.grants.exclude(**{change.kind: None}).count() >= MAX_GRANTS_PER_KIND:
        message = gettext(
            "Nothing was changed: {source} has {number} grants of this kind already, and there can be no more. Delete "
            "one on the page of the data source first."
        )
        raise InvalidRequest(message.format(source=source.name, number=MAX_GRANTS_PER_KIND), field="change")
    Grant.objects.create(source=source, granted_by=actor, **{f"{change.kind}_id": change.grantee_id})
    return change


def _grantees(kind: str, membership: Membership) -> Sequence[Grantee]:
    if kind == "user":
        return [membership.user]
    if kind == "role":
        return list(membership.roles.order_by("name"))
    teams = {team.pk: team for team in membership.teams.all()}
    waiting = list(teams.values())
    while waiting:  # members of a team belong to the teams above it too
        parent = waiting.pop().parent
        if parent and parent.pk not in teams:
            teams[parent.pk] = parent
            waiting.append(parent)
    return sorted(teams.values(), key=lambda team: team.name)


def _count_people(kind: str, grantee: Grantee) -> int:
    if kind == "user":
        return 1
    active = Membership.objects.filter(is_active=True, user__is_active=True)
    if kind == "role":
        return active.filter(roles=grantee.pk).count()
    below, level = {grantee.pk}, {grantee.pk}
    while level:
        level = set(Team.objects.filter(parent__in=level).values_list("pk", flat=True)) - below
        below |= level
    return active.filter(teams__in=below).distinct().count()


def describe_fixed_access(source: DataSource) -> str:
    """Return why the matrix offers no change for this visibility; empty if it may offer some."""
    return {
        Visibility.PUBLIC: gettext("Every member can query it, because its visibility is “public”."),
        Visibility.PERSONAL: gettext("Only its owner can query it, because its visibility is “personal”."),
    }.get(Visibility(source.visibility), "")
