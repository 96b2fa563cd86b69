"""Who may do what with a data source, said a second time: contracts/RESOLUTION.md in plain Python.

Nothing here knows the database or the product's own rule. Two statements made apart that agree are the test.
"""

from dataclasses import dataclass

ACTIONS = ("query", "ingest", "manage", "view")
VISIBILITIES = ("public", "role", "team", "private", "personal")
PERMISSIONS = ("sources.create", "sources.ingest", "sources.manage", "members.manage")


class Short:
    """Shown by its name, so that a world that fails is short enough to read; World.__repr__ adds the rest once."""

    name: str

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, repr=False)
class Organization(Short):
    name: str
    active: bool = True


@dataclass(frozen=True, repr=False)
class User(Short):
    name: str
    active: bool = True
    staff: bool = False
    superuser: bool = False


@dataclass(frozen=True, repr=False)
class Role(Short):
    name: str
    organization: Organization
    permissions: frozenset[str] = frozenset()


@dataclass(frozen=True, repr=False)
class Team(Short):
    name: str
    organization: Organization


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


@dataclass(frozen=True, repr=False)
class World:
    organizations: tuple[Organization, ...]
    users: tuple[User, ...]
    roles: tuple[Role, ...]
    teams: tuple[Team, ...]
    memberships: tuple[Membership, ...]
    sources: tuple[Source, ...]

    def __repr__(self) -> str:
        return "\n".join(
            [
                "World:",
                *(f"  {each} active={each.active}" for each in self.organizations),
                *(f"  {u} active={u.active} staff={u.staff} superuser={u.superuser}" for u in self.users),
                *(f"  {role} allows {sorted(role.permissions)}" for role in self.roles if role.permissions),
                *(f"  {each}" for each in (*self.memberships, *self.sources)),
            ]
        )


def may(world: World, user: User | None, source: Source, action: str) -> bool:
    """May this user do this with this source? None is somebody anonymous."""
    if user is None or not user.active:
        return False
    # "Deleting a source … makes it invisible at once"; an organisation that is switched off is closed to everybody.
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
