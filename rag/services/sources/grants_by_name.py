"""The lists of roles, teams and users who may query a data source."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from accounts.models import User
from orgs.access.caller import Caller
from orgs.models import Organization
from rag.errors import InvalidRequest
from rag.models import Action, DataSource, Grant
from rag.models.grants import Grantee
from ragsite.postgres import identity

from . import lookup


@dataclass(frozen=True, slots=True)
class GrantsByName:
    """Who may query a source with the matching visibility. A list that is None stays as it is.

    Attributes:
        roles: Names of roles of the organisation.
        teams: Names of teams of the organisation.
        users: E-mail addresses of members.
    """

    roles: tuple[str, ...] | None = None
    teams: tuple[str, ...] | None = None
    users: tuple[str, ...] | None = None


def get_grants_by_name(caller: Caller, sources: Iterable[DataSource]) -> dict[uuid.UUID, GrantsByName]:
    """Return source id → access lists, without the sources that the caller may not manage."""
    source_ids = [source.pk for source in sources]
    managed = lookup.visible_sources(caller, Action.MANAGE).filter(pk__in=source_ids)
    with identity.hint_sources(source_ids):
        names_by_source: dict[uuid.UUID, dict[str, list[str]]] = {
            source_id: {"roles": [], "teams": [], "users": []} for source_id in managed.values_list("pk", flat=True)
        }
        grants = list(
            Grant.objects.unexpired()
            .filter(source__in=list(names_by_source))
            .values_list("source", "role__name", "team__name", "user__email")
        )
    for source_id, *names in grants:
        for field, name in zip(("roles", "teams", "users"), names, strict=True):
            if name is not None:
                names_by_source[source_id][field].append(name)
    return {
        source_id: GrantsByName(**{field: tuple(sorted(names)) for field, names in lists.items()})
        for source_id, lists in names_by_source.items()
    }


def replace_grants(source: DataSource, kind: str, names: tuple[str, ...], *, granted_by: User) -> None:
    """Replace the source's access list of this kind ("role", "team" or "user").

    Grants that are in both lists stay as they are, with their expiry. Expired ones are granted again.

    Raises:
        InvalidRequest: If the list would have no effect, because of the source's visibility.
    """
    field, visibility = f"{kind}s", Grant.VISIBILITY_BY_KIND[kind]
    if names and source.visibility != visibility:
        message = f"{field} count only while the visibility is {visibility}; it is {source.visibility}."
        raise InvalidRequest(message, field=field)
    grantees = _get_grantees(source.organization, kind, names)
    grants = source.grants.exclude(**{kind: None})
    granted_ids = set(grants.unexpired().values_list(kind, flat=True))
    grants.exclude(**{f"{kind}__in": granted_ids & {grantee.pk for grantee in grantees}}).delete()
    Grant.objects.bulk_create(
        Grant(source=source, granted_by=granted_by, **{kind: grantee})
        for grantee in grantees
        if grantee.pk not in granted_ids
    )


def _get_grantees(organization: Organization, kind: str, names: tuple[str, ...]) -> list[Grantee]:
    """Return the organisation's roles or teams with these names, or its active members with these addresses."""
    if kind == "user":
        names = tuple(User.objects.normalize_email(name) for name in names)
        members = User.objects.filter(memberships__organization=organization, memberships__is_active=True)
        grantees: dict[str, Grantee] = {user.email: user for user in members.filter(email__in=names)}
    else:
        groups = organization.roles if kind == "role" else organization.teams
        grantees = {group.name: group for group in groups.filter(name__in=names)}
    if unknown := sorted(set(names) - set(grantees)):
        raise InvalidRequest(f"The organisation has no {kind} {unknown[0]}.", field=f"{kind}s")
    return list(grantees.values())
