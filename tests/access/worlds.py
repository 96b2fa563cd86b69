"""Random worlds for the access rule, and their database rows.

Some worlds contain rows that no form accepts, such as a grant to another organisation's role. Such rows can be created
in other ways, and the rule must hold for them too.

`worlds()` draws a world, `build(world)` creates its rows, and `Rows.expected(user, key, action)` is the oracle's
answer, with which the product's rule is compared.
"""

import functools
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.utils import timezone
from hypothesis import strategies as st

from accounts.models import User
from orgs.access.caller import Caller
from orgs.models import AnyUser, ApiKey, Membership, Organization, Role, Team
from rag.models import Chunk, DataSource, Document, EmbeddingModel, Grant, IngestionJob
from rag.models.content.pgvector_tables import Embedding384
from ragsite.postgres.models import uuid7
from tests.access.rule import oracle
from tests.support.data.rows import insert_rows

usually = st.sampled_from((True,) * 7 + (False,))
seldom = st.sampled_from((False,) * 7 + (True,))
_is_true = st.booleans()
_two_to_four = st.integers(2, 4)
_numbers_of_sources = st.integers(6, 12)  # more sources cost no more queries
at_times = st.sampled_from((False,) * 3 + (True,))
ends = st.sampled_from((None, None, -60, 3600))  # seconds from now
NETWORKS = ("203.0.113.0/24", "203.0.113.7/32", "198.51.100.128/25", "2001:db8::/32")
ADDRESSES = ("203.0.113.7", "203.0.113.8", "198.51.100.127", "198.51.100.128", "2001:db8:1::1", "2001:db9::1")


@functools.cache
def _indexes(count: int) -> st.SearchStrategy[int]:
    return st.integers(0, count - 1)


@functools.cache
def _index_sets(count: int, max_size: int) -> st.SearchStrategy[frozenset[int]]:
    return st.frozensets(_indexes(count), max_size=max_size)


# Strategies of numbers are the same in every world. Those of a world's own objects would be made and checked anew.
def _one(draw: st.DrawFn, items: Sequence[Any]) -> Any:
    return items[draw(_indexes(len(items)))]


def _some(draw: st.DrawFn, items: Sequence[Any], max_size: int) -> frozenset[Any]:
    return frozenset(items[index] for index in draw(_index_sets(len(items), max_size)))


def of(organization: oracle.Organization, items: Iterable[Any]) -> list[Any]:
    return [item for item in items if item.organization == organization]


@st.composite
def worlds(draw: st.DrawFn) -> oracle.World:
    organizations = tuple(oracle.Organization(f"o{n}", draw(usually)) for n in range(draw(st.integers(2, 3))))
    users = tuple(
        oracle.User(f"u{n}", active=draw(usually), staff=draw(_is_true), superuser=draw(seldom))
        for n in range(draw(st.integers(3, 4)))
    )
    roles = tuple(
        oracle.Role(f"{home.name}r{n}", home, _some(draw, oracle.PERMISSIONS, 2))
        for home in organizations
        for n in (0, 1)
    )
    teams = tuple(oracle.Team(f"{home.name}t{n}", home) for home in organizations for n in (0, 1, 2))
    parents = tuple((team, _one(draw, [*of(team.organization, teams), *teams])) for team in teams if draw(_is_true))
    memberships = tuple(
        oracle.Membership(
            user,
            home,
            active=draw(usually),
            # The organisation's own are drawn more often than those of other organisations.
            roles=_some(draw, [*of(home, roles), *roles], 4),
            teams=_some(draw, [*of(home, teams), *teams], 4),
        )
        for user in users
        for home in organizations
        if draw(usually)
    )
    number = draw(_numbers_of_sources)
    sources = tuple(_source(draw, f"s{n}", organizations, users, roles, teams) for n in range(number))
    keys = tuple(_key(draw, f"k{n}", organizations, users, sources) for n in range(draw(_two_to_four)))
    return oracle.World(organizations, users, roles, teams, memberships, sources, parents, keys)


def _source(
    draw: st.DrawFn,
    name: str,
    organizations: Sequence[oracle.Organization],
    users: Sequence[oracle.User],
    roles: Sequence[oracle.Role],
    teams: Sequence[oracle.Team],
) -> oracle.Source:
    home = _one(draw, organizations)
    visibility = _one(draw, (*oracle.VISIBILITIES, "role", "team"))  # these two have more cases
    fitting = {"role": [*of(home, roles), *roles], "team": [*of(home, teams), *teams], "private": users}.get(
        visibility, ()
    )
    return oracle.Source(
        name,
        home,
        visibility,
        owner=_one(draw, users) if draw(_is_true) else None,
        grants=frozenset(
            oracle.Grant(to, draw(ends))
            for to in sorted(_some(draw, [*fitting, *fitting, *users, *roles, *teams], 5), key=repr)
        ),
        deleted=draw(seldom),
    )


def _key(
    draw: st.DrawFn,
    name: str,
    organizations: Sequence[oracle.Organization],
    users: Sequence[oracle.User],
    sources: Sequence[oracle.Source],
) -> oracle.Key:
    names = [source.name for source in sources]
    return oracle.Key(
        name,
        _one(draw, users),
        _one(draw, organizations),
        scopes=_some(draw, oracle.SCOPES, 2) if draw(_is_true) else frozenset(oracle.SCOPES),
        sources=_some(draw, names, 5) if draw(_is_true) else None,
        networks=_some(draw, NETWORKS, 2) if draw(_is_true) else None,
        ends=draw(ends),
        revoked=draw(at_times),
        is_for_all_organizations=draw(_is_true),
    )


@dataclass(frozen=True)
class Rows:
    """The rows of a world. users: None is the anonymous user."""

    world: oracle.World
    users: dict[oracle.User | None, AnyUser]
    sources: dict[str, DataSource]
    keys: dict[oracle.Key, ApiKey]

    def callers(self) -> Iterator[tuple[oracle.User | None, oracle.Key | None, Caller]]:
        """Every user without a key and with each of their keys, as authentication creates callers; and one user with
        another user's key."""
        for user, row in self.users.items():
            yield user, None, Caller(row)
        stranger = next(user for user in self.world.users if user != self.world.keys[0].user)
        for user, key in [(stranger, self.world.keys[0]), *((key.user, key) for key in self.world.keys)]:
            yield user, key, Caller(self.users[user], self.keys[key])

    def expected(self, user: oracle.User | None, key: oracle.Key | None, action: str) -> set[UUID]:
        """The ids of the sources on which the oracle allows the action."""
        return {self.sources[name].pk for name in oracle.visible_sources(self.world, user, key, action)}


def secret(key: oracle.Key) -> str:
    return f"rk_{key.name:x>43}"


def build(world: oracle.World) -> Rows:
    homes: dict[Any, Organization] = {
        organization: Organization(name=organization.name, slug=organization.name, is_active=organization.active)
        for organization in world.organizations
    }
    users: dict[Any, User] = {
        user: User(
            email=f"{user.name}@x.example", is_active=user.active, is_staff=user.staff, is_superuser=user.superuser
        )
        for user in world.users
    }
    roles: dict[Any, Role] = {
        role: Role(organization=homes[role.organization], name=role.name, permissions=sorted(role.permissions))
        for role in world.roles
    }
    teams: dict[Any, Team] = {team: Team(organization=homes[team.organization], name=team.name) for team in world.teams}
    memberships = {
        member: Membership(user=users[member.user], organization=homes[member.organization], is_active=member.active)
        for member in world.memberships
    }
    model = EmbeddingModel.objects.default()
    sources = {
        source: DataSource(
            organization=homes[source.organization],
            name=source.name,
            slug=source.name,
            visibility=source.visibility,
            owner=users[source.owner] if source.owner else None,
            embedding_model=model,
            deleted_at=timezone.now() if source.deleted else None,
        )
        for source in world.sources
    }
    keys = {key: _key_row(key, users, homes, sources) for key in world.keys}
    for team, parent in world.parents:
        teams[team].parent = teams[parent]
    assigned = [
        Membership.roles.through(membership=row, role=roles[role])
        for member, row in memberships.items()
        for role in sorted(member.roles, key=repr)
    ]
    joined = [
        Membership.teams.through(membership=row, team=teams[team])
        for member, row in memberships.items()
        for team in sorted(member.teams, key=repr)
    ]
    grants = [
        Grant(
            source=row,
            user=users.get(grant.to),
            role=roles.get(grant.to),
            team=teams.get(grant.to),
            expires_at=_moment(grant.ends),
        )
        for source, row in sources.items()
        for grant in source.grants
    ]
    tables = (homes, users, roles, teams, memberships, sources, keys)
    insert_rows([row for rows in tables for row in rows.values()] + [*assigned, *joined, *grants])
    by_name = {source.name: row for source, row in sources.items()}
    return Rows(world, {**users, None: AnonymousUser()}, by_name, keys)


def _key_row(
    key: oracle.Key, users: dict[Any, User], homes: dict[Any, Organization], sources: dict[Any, DataSource]
) -> ApiKey:
    ids = {source.name: row.pk for source, row in sources.items()}
    return ApiKey(
        user=users[key.user],
        organization=homes[key.organization],
        name=key.name,
        prefix=secret(key)[:11],
        hash=hashlib.sha256(secret(key).encode()).hexdigest(),
        scopes=sorted(key.scopes),
        source_ids=None if key.sources is None else [ids[name] for name in sorted(key.sources)],
        networks=None if key.networks is None else sorted(key.networks),
        all_organizations=key.is_for_all_organizations,
        expires_at=_moment(key.ends),
        revoked_at=timezone.now() if key.revoked else None,
    )


def _moment(ends: int | None) -> Any:
    return None if ends is None else timezone.now() + timedelta(seconds=ends)


def add_content(sources: Iterable[DataSource]) -> None:
    """Add a document with one chunk and its vector, and a job, to each source.

    No two sources have the same text, so that a search finds the chunk of each.
    """
    sizes = {"chunk_size": 1000, "chunk_overlap": 0}
    documents = [
        Document(source=source, path="a", title="a", text=source.name, chunk_count=1, revision=uuid7(), **sizes)
        for source in sources
    ]
    chunks = [
        Chunk(
            source=document.source,
            document=document,
            position=0,
            start=0,
            end=len(document.text),
            text=document.text,
            tokens=1,
        )
        for document in documents
    ]
    _insert(documents)
    _insert(chunks)
    _insert(
        Embedding384(
            chunk=chunk,
            source=chunk.source,
            document=chunk.document,
            model_id=chunk.source.embedding_model_id,
            embedding=[1.0] * 384,
        )
        for chunk in chunks
    )
    _insert(IngestionJob(source=document.source, **sizes) for document in documents)


def _insert(rows: Iterable[Any]) -> None:
    rows = list(rows)
    if rows:
        type(rows[0])._default_manager.bulk_create(rows)
