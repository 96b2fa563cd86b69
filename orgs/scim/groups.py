"""Groups of a directory. The members of a group are the members of a team."""

import hashlib
import uuid
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet
from django.utils.text import slugify

from orgs.models import Membership, Organization, ScimGroup, Team
from orgs.models.organizations import MAX_SLUG_CHARACTERS
from ragsite.postgres.models import as_uuid

from . import patches
from .errors import ScimError
from .users import read_text

SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:Group"
FIELDS = {
    "id": "pk",
    "displayname": "display_name",
    "externalid": "external_id",
    "members": "team__memberships__pk",
    "members.value": "team__memberships__pk",
}
MAX_GROUPS, MAX_MEMBERS = 1_000, patches.MAX_ELEMENTS
# Teams of deleted groups stay, and count.
MAX_TEAMS = 10_000


@dataclass(frozen=True, slots=True)
class GroupValues:
    """What a directory says about a group. `member_ids`: the ids of memberships."""

    display_name: str
    external_id: str
    member_ids: frozenset[uuid.UUID]


def list_groups(organization: Organization) -> QuerySet[ScimGroup]:
    """Return the groups that the directory has created, the oldest first."""
    return ScimGroup.objects.filter(team__organization=organization).select_related("team").order_by("pk")


def read_values(body: object) -> GroupValues:
    """Read a SCIM group.

    Raises:
        ScimError: If it is not valid.
    """
    if not isinstance(body, dict):
        raise ScimError(400, "The body must be a JSON object.", "invalidSyntax")
    body = {str(name).lower(): value for name, value in body.items()}
    members = body.get("members") or []
    if not isinstance(members, list) or len(members) > MAX_MEMBERS:
        raise ScimError(400, f"members must be a list of at most {MAX_MEMBERS:,}.", "invalidValue")
    ids = {as_uuid(str(member.get("value"))) if isinstance(member, dict) else None for member in members}
    member_ids = frozenset(pk for pk in ids if pk is not None)
    if len(member_ids) < len(ids):
        raise ScimError(400, "Each member needs the id of a user as its value.", "invalidValue")
    display_name = read_text(body, "displayname", required=True)
    return GroupValues(display_name=display_name, external_id=read_text(body, "externalid"), member_ids=member_ids)


@transaction.atomic
def create_group(organization: Organization, values: GroupValues) -> ScimGroup:
    """Create a group, with a team of its name. A team that exists and is not a group yet is used.

    Raises:
        ScimError: If there is such a group, or too many groups or teams, or a member is unknown.
    """
    if list_groups(organization).count() >= MAX_GROUPS:
        raise ScimError(400, f"An organisation may have {MAX_GROUPS:,} groups.", "tooMany")
    name, teams = _team_name(values.display_name), Team.objects.filter(organization=organization)
    if not teams.filter(name=name).exists() and teams.count() >= MAX_TEAMS:
        raise ScimError(400, f"The organisation has {MAX_TEAMS:,} teams. Delete those of deleted groups.", "tooMany")
    team, _ = Team.objects.get_or_create(organization=organization, name=name)
    if ScimGroup.objects.filter(team=team).exists():
        raise ScimError(409, "There is a group of this displayName already.", "uniqueness")
    group = ScimGroup.objects.create(team=team, display_name=values.display_name, external_id=values.external_id)
    _set_members(group, values.member_ids)
    return group


@transaction.atomic
def replace_group(group: ScimGroup, values: GroupValues) -> None:
    """Give a group the values of the directory. The team keeps its name, which data sources show.

    Raises:
        ScimError: If a member is unknown.
    """
    group.display_name, group.external_id = values.display_name, values.external_id
    group.save(update_fields=["display_name", "external_id"])
    _set_members(group, values.member_ids)


@transaction.atomic
def delete_group(group: ScimGroup) -> None:
    """Delete a group. The team stays without members, so that data sources keep their settings."""
    _set_members(group, frozenset())
    group.delete()


def _set_members(group: ScimGroup, member_ids: frozenset[uuid.UUID]) -> None:
    memberships = {row.pk: row for row in group.team.memberships.all()}
    new_ids = member_ids - memberships.keys()
    # Locked, so that nobody is added who is removed from the organisation at this moment.
    members = Membership.objects.filter(pk__in=new_ids, organization=group.team.organization_id)
    new_members = list(members.order_by("pk").select_for_update(no_key=True))
    if len(new_members) < len(new_ids):
        raise ScimError(400, "A member is not a user of this organisation.", "invalidValue")
    for pk in memberships.keys() - member_ids:
        memberships[pk].teams.remove(group.team)
    for membership in new_members:
        membership.teams.add(group.team)


def _team_name(display_name: str) -> str:
    """Return a slug for the team: from the name or, if that has no Latin letters and digits, from its digest."""
    digest = hashlib.sha256(display_name.encode()).hexdigest()[:12]
    return slugify(display_name)[:MAX_SLUG_CHARACTERS].strip("-") or f"group-{digest}"
