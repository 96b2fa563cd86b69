"""Who may do what with a data source, said a second time: contracts/RESOLUTION.md in plain Python.

Nothing here knows the database or the product's own rule. Two statements that were made apart and agree are the test.
"""

from dataclasses import dataclass, field

ACTIONS = ("query", "ingest", "manage", "view")
VISIBILITIES = ("public", "role", "team", "private", "personal")
PERMISSIONS = ("sources.create", "sources.ingest", "sources.manage", "members.manage")


@dataclass(frozen=True)
class Organization:
    name: str
    active: bool = True


@dataclass(frozen=True)
class User:
    name: str
    active: bool = True
    staff: bool = False
    superuser: bool = False


@dataclass(frozen=True)
class Role:
    name: str
    organization: Organization = field(repr=False)
    permissions: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Team:
    name: str
    organization: Organization = field(repr=False)


@dataclass(frozen=True)
class Membership:
    user: User
    organization: Organization
    active: bool = True
    roles: frozenset[Role] = frozenset()
    teams: frozenset[Team] = frozenset()


@dataclass(frozen=True)
class Source:
    name: str
    organization: Organization
    visibility: str = "public"
    owner: User | None = None
    granted: frozenset[User | Role | Team] = frozenset()
    deleted: bool = False


@dataclass(frozen=True)
class World:
    organizations: tuple[Organization, ...]
    users: tuple[User, ...]
    roles: tuple[Role, ...]
    teams: tuple[Team, ...]
    memberships: tuple[Membership, ...]
    sources: tuple[Source, ...]


def may(world: World, user: User | None, source: Source, action: str) -> bool:
    """May this user do this with this source? None is somebody anonymous."""
    if user is None or not user.active:
        return False
    # "Deleting a source makes it invisible at once"; an organisation that is switched off is closed to everybody.
    if source.deleted or not source.organization.active:
        return False
    if action == "view":
        return any(may(world, user, source, each) for each in ("query", "ingest", "manage"))
    if action == "manage" and user.superuser:
        return True

    # All else needs a membership in the source's own organisation, and counts only what is held there and is of there:
    # a role or team of another organisation is nothing, whoever holds it and whatever was granted to it.
    here = source.organization
    membership = next((m for m in world.memberships if m.user == user and m.organization == here and m.active), None)
    if membership is None:
        return False
    roles = {role for role in membership.roles if role.organization == here}
    teams = {team for team in membership.teams if team.organization == here}
    permissions = {permission for role in roles for permission in role.permissions}
    if action == "ingest":
        return "sources.ingest" in permissions or source.owner == user
    if action == "manage":
        return "sources.manage" in permissions
    if action == "query":
        return {
            "public": True,
            "role": bool(roles & source.granted),
            "team": bool(teams & source.granted),
            "private": user in source.granted,
            "personal": source.owner == user,
        }[source.visibility]
    raise ValueError(action)


def may_with_jobs(world: World, user: User | None, source: Source, action: str) -> bool:
    """The same for the source's ingestion jobs: readers of the source do not watch them."""
    if action == "view":
        return may(world, user, source, "ingest") or may(world, user, source, "manage")
    return may(world, user, source, action)
