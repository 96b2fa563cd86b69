"""Who may do what with a data source, said a second time: contracts/RESOLUTION.md and docs/contracts/access.md in
plain Python.

Nothing here knows the database or the product's own rule. Two statements made apart that agree are the test.
"""

import ipaddress
from dataclasses import dataclass

ACTIONS = ("query", "ingest", "manage", "view")
VISIBILITIES = ("public", "role", "team", "private", "personal")
SCOPES = ("query", "ingest", "manage")
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
class Grant:
    """ends: seconds from now; below zero it is past. None: never."""

    to: User | Role | Team
    ends: int | None = None


@dataclass(frozen=True)
class Source:
    name: str
    organization: Organization
    visibility: str = "public"
    owner: User | None = None
    grants: frozenset[Grant] = frozenset()
    deleted: bool = False


@dataclass(frozen=True)
class Key:
    """An API key. sources: names of those that it is restricted to. ends: as of a grant."""

    name: str
    user: User
    organization: Organization
    scopes: frozenset[str]
    sources: frozenset[str] | None = None
    networks: frozenset[str] | None = None
    ends: int | None = None
    revoked: bool = False


@dataclass(frozen=True, repr=False)
class World:
    organizations: tuple[Organization, ...]
    users: tuple[User, ...]
    roles: tuple[Role, ...]
    teams: tuple[Team, ...]
    memberships: tuple[Membership, ...]
    sources: tuple[Source, ...]
    # Team and the team that it is part of. Rows may hold what no form accepts: cycles, parents of other organisations.
    parents: tuple[tuple[Team, Team], ...] = ()
    keys: tuple[Key, ...] = ()

    def __repr__(self) -> str:
        return "\n".join(
            [
                "World:",
                *(f"  {each} active={each.active}" for each in self.organizations),
                *(f"  {u} active={u.active} staff={u.staff} superuser={u.superuser}" for u in self.users),
                *(f"  {role} allows {sorted(role.permissions)}" for role in self.roles if role.permissions),
                *(f"  {team} is part of {parent}" for team, parent in self.parents),
                *(f"  {each}" for each in (*self.memberships, *self.sources, *self.keys)),
            ]
        )


def visible(world: World, user: User | None, key: Key | None, action: str) -> set[str]:
    """The names of the sources with which this user may do this, by this key if there is one."""
    return {source.name for source in world.sources if may(world, user, source, action, key)}


def may(world: World, user: User | None, source: Source, action: str, key: Key | None = None) -> bool:
    """May this user do this with this source? None is somebody anonymous. With a key: what the user may, as far as the
    key's scopes and sources go."""
    if key is not None:
        if key.user != user or not counts(world, key):
            return False
        if action != "view" and action not in key.scopes:
            return False
        if key.sources is not None and source.name not in key.sources:
            return False
    return _user_may(world, user, source, action)


def may_with_jobs(world: World, user: User | None, source: Source, action: str, key: Key | None = None) -> bool:
    """The same for the source's ingestion jobs: readers of the source do not watch them."""
    if action == "view":
        return any(may(world, user, source, each, key) for each in ("ingest", "manage"))
    return may(world, user, source, action, key)


def counts(world: World, key: Key) -> bool:
    """Does this key count now? Neither revoked nor past its end, and its user is an active member of its organisation,
    which is active."""
    if key.revoked or not _lasts(key.ends) or not (key.user.active and key.organization.active):
        return False
    return _membership(world, key.user, key.organization) is not None


def may_come_from(key: Key, address: str) -> bool:
    """Is this one of the addresses that the key may be used from?"""
    if key.networks is None:
        return True
    return any(_begins_alike(address, *network.split("/")) for network in key.networks)


def _begins_alike(address: str, network: str, bits: str) -> bool:
    here, there = (ipaddress.ip_address(each).packed for each in (address, network))
    first, second = ("".join(f"{byte:08b}" for byte in each) for each in (here, there))
    return len(first) == len(second) and first[: int(bits)] == second[: int(bits)]


def _lasts(ends: int | None) -> bool:
    return ends is None or ends > 0


def _membership(world: World, user: User, organization: Organization) -> Membership | None:
    held = (m for m in world.memberships if m.user == user and m.organization == organization and m.active)
    return next(held, None)


def _with_those_above(world: World, teams: set[Team], organization: Organization) -> set[Team]:
    """The teams of this organisation among them, and all that these are part of, as far as it is of this organisation:
    a parent elsewhere is nothing, and what is above it is not reached through it."""
    found = {team for team in teams if team.organization == organization}
    while more := {
        parent
        for team, parent in world.parents
        if team in found and parent not in found and parent.organization == organization
    }:
        found |= more
    return found


def _user_may(world: World, user: User | None, source: Source, action: str) -> bool:
    if user is None or not user.active:
        return False
    # "Deleting a source … makes it invisible at once"; an organisation that is switched off is closed to everybody.
    if source.deleted or not source.organization.active:
        return False
    if action == "view":
        return any(_user_may(world, user, source, each) for each in ("query", "ingest", "manage"))
    if action == "manage" and user.superuser:
        return True

    # All else needs a membership in the source's own organisation, and counts only what is held there and is of there:
    # a role or team of another organisation is nothing, whoever holds it and whatever was granted to it.
    here = source.organization
    membership = _membership(world, user, here)
    if membership is None:
        return False
    roles = {role for role in membership.roles if role.organization == here}
    teams = _with_those_above(world, set(membership.teams), here)
    permissions = {permission for role in roles for permission in role.permissions}
    if action == "ingest":
        return "sources.ingest" in permissions or source.owner == user
    if action == "manage":
        return "sources.manage" in permissions
    if action == "query":
        granted = {grant.to for grant in source.grants if _lasts(grant.ends)}
        return {
            "public": True,
            "role": bool(roles & granted),
            "team": bool(teams & granted),
            "private": user in granted,
            "personal": source.owner == user,
        }[source.visibility]
    raise ValueError(action)
