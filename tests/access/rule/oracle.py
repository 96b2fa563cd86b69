"""The access rule of the shared rules and docs/contracts/access.md, stated a second time in plain Python.

This module uses neither the database nor the product's own rule. Tests check that both statements agree.
"""

import ipaddress
from dataclasses import dataclass

ACTIONS = ("query", "ingest", "manage", "view")
VISIBILITIES = ("public", "role", "team", "private", "personal")
SCOPES = ("query", "ingest", "manage")
PERMISSIONS = ("sources.create", "sources.ingest", "sources.manage", "members.manage")


class Named:
    """Represented by its name, which keeps a failing world readable; World.__repr__ adds the other fields once."""

    name: str

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, repr=False)
class Organization(Named):
    name: str
    active: bool = True


@dataclass(frozen=True, repr=False)
class User(Named):
    name: str
    active: bool = True
    staff: bool = False
    superuser: bool = False


@dataclass(frozen=True, repr=False)
class Role(Named):
    name: str
    organization: Organization
    permissions: frozenset[str] = frozenset()


@dataclass(frozen=True, repr=False)
class Team(Named):
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
    """ends: seconds from now, negative if it has expired, None if it does not expire."""

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
    """An API key.

    Attributes:
        sources: Names of the sources that it is restricted to.
        ends: See Grant.
        is_for_all_organizations: It acts in all organisations of its user, not only in its own.
    """

    name: str
    user: User
    organization: Organization
    scopes: frozenset[str]
    sources: frozenset[str] | None = None
    networks: frozenset[str] | None = None
    ends: int | None = None
    revoked: bool = False
    is_for_all_organizations: bool = False


@dataclass(frozen=True, repr=False)
class World:
    organizations: tuple[Organization, ...]
    users: tuple[User, ...]
    roles: tuple[Role, ...]
    teams: tuple[Team, ...]
    memberships: tuple[Membership, ...]
    sources: tuple[Source, ...]
    # (team, parent team). Includes rows that no form accepts: cycles, parents in other organisations.
    parents: tuple[tuple[Team, Team], ...] = ()
    keys: tuple[Key, ...] = ()

    def __repr__(self) -> str:
        return "\n".join(
            [
                "World:",
                *(f"  {organization} active={organization.active}" for organization in self.organizations),
                *(f"  {u} active={u.active} staff={u.staff} superuser={u.superuser}" for u in self.users),
                *(f"  {role} allows {sorted(role.permissions)}" for role in self.roles if role.permissions),
                *(f"  {team} is part of {parent}" for team, parent in self.parents),
                *(f"  {item}" for item in (*self.memberships, *self.sources, *self.keys)),
            ]
        )


def visible_sources(world: World, user: User | None, key: Key | None, action: str) -> set[str]:
    """The names of the sources on which the user may do the action, with the key if there is one."""
    return {source.name for source in world.sources if is_allowed(world, user, source, action, key)}


def is_allowed(world: World, user: User | None, source: Source, action: str, key: Key | None = None) -> bool:
    """Return whether the user may do the action on the source. user is None for anonymous requests.

    A key allows what its user may do, limited to the key's scopes, sources and organisation.
    """
    if key is not None:
        if key.user != user or not is_usable(world, key):
            return False
        if action != "view" and action not in key.scopes:
            return False
        if key.sources is not None and source.name not in key.sources:
            return False
        if not key.is_for_all_organizations and source.organization != key.organization:
            return False
    return _is_user_allowed(world, user, source, action)


def is_allowed_on_jobs(world: World, user: User | None, source: Source, action: str, key: Key | None = None) -> bool:
    """The same for the source's ingestion jobs, which readers of the source do not see."""
    if action == "view":
        return any(is_allowed(world, user, source, specific, key) for specific in ("ingest", "manage"))
    return is_allowed(world, user, source, action, key)


def is_usable(world: World, key: Key) -> bool:
    """Return whether the key is usable now: neither revoked nor expired, and its user is an active member of its active
    organisation."""
    if key.revoked or not _is_unexpired(key.ends) or not (key.user.active and key.organization.active):
        return False
    return _active_membership(world, key.user, key.organization) is not None


def manages_members(world: World, user: User, organization: Organization) -> bool:
    """Return whether the user may change the organisation's members, and so list and revoke their keys."""
    if not (user.active and organization.active):
        return False
    membership = _active_membership(world, user, organization)
    return user.superuser or (
        membership is not None
        and any(role.organization == organization and "members.manage" in role.permissions for role in membership.roles)
    )


def accepts_address(key: Key, address: str) -> bool:
    """Return whether the key may be used from this IP address."""
    if key.networks is None:
        return True
    return any(_share_prefix(address, *network.split("/")) for network in key.networks)


def _share_prefix(address: str, network: str, bits: str) -> bool:
    packed = [ipaddress.ip_address(value).packed for value in (address, network)]
    first, second = ("".join(f"{byte:08b}" for byte in value) for value in packed)
    return len(first) == len(second) and first[: int(bits)] == second[: int(bits)]


def _is_unexpired(ends: int | None) -> bool:
    return ends is None or ends > 0


def _active_membership(world: World, user: User, organization: Organization) -> Membership | None:
    memberships = (m for m in world.memberships if m.user == user and m.organization == organization and m.active)
    return next(memberships, None)


def _with_ancestors(world: World, teams: set[Team], organization: Organization) -> set[Team]:
    """Return those of the teams that belong to the organisation, and all their ancestors.

    A parent team in another organisation is ignored, and so are its own parents.
    """
    reached = {team for team in teams if team.organization == organization}
    while parents := {
        parent
        for team, parent in world.parents
        if team in reached and parent not in reached and parent.organization == organization
    }:
        reached |= parents
    return reached


def _is_user_allowed(world: World, user: User | None, source: Source, action: str) -> bool:
    if user is None or not user.active:
        return False
    # "Deleting a source … makes it invisible at once"; a closed organisation is closed to everybody.
    if source.deleted or not source.organization.active:
        return False
    if action == "view":
        return any(_is_user_allowed(world, user, source, specific) for specific in ("query", "ingest", "manage"))
    if action == "manage" and user.superuser:
        return True

    # Everything else needs a membership in the source's organisation. Only roles and teams of that organisation count;
    # those of other organisations are ignored, whoever has them and whatever is granted to them.
    home = source.organization
    membership = _active_membership(world, user, home)
    if membership is None:
        return False
    roles = {role for role in membership.roles if role.organization == home}
    teams = _with_ancestors(world, set(membership.teams), home)
    permissions = {permission for role in roles for permission in role.permissions}
    if action == "ingest":
        return "sources.ingest" in permissions or source.owner == user
    if action == "manage":
        return "sources.manage" in permissions or source.owner == user
    if action == "query":
        granted = {grant.to for grant in source.grants if _is_unexpired(grant.ends)}
        return {
            "public": True,
            "role": bool(roles & granted),
            "team": bool(teams & granted),
            "private": user in granted,
            "personal": source.owner == user,
        }[source.visibility]
    raise ValueError(action)
