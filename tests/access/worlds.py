"""Random worlds for the access rule, and how one becomes rows.

Some of what is drawn the forms refuse, such as a grant to another organisation's role. Rows can come by other ways
than forms, and the rule must hold for them too.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from django.contrib.auth.models import AnonymousUser
from django.utils import timezone
from hypothesis import strategies as st

from accounts.models import User
from orgs.models import Caller, Membership, Organization, Role, Team
from rag.models import Chunk, DataSource, Document, Embedding384, EmbeddingModel, Grant, IngestionJob
from ragsite.db import uuid7
from tests.access import oracle

usually = st.sampled_from((True,) * 7 + (False,))
seldom = st.sampled_from((False,) * 7 + (True,))


def some(things: Sequence[Any], at_most: int) -> st.SearchStrategy[frozenset[Any]]:
    return st.frozensets(st.sampled_from(things), max_size=at_most)


def of(organization: oracle.Organization, things: Iterable[Any]) -> list[Any]:
    return [thing for thing in things if thing.organization == organization]


@st.composite
def worlds(draw: st.DrawFn) -> oracle.World:
    organizations = tuple(oracle.Organization(f"o{n}", draw(usually)) for n in range(draw(st.integers(2, 3))))
    users = tuple(
        oracle.User(f"u{n}", active=draw(usually), staff=draw(st.booleans()), superuser=draw(seldom))
        for n in range(draw(st.integers(3, 4)))
    )
    roles = tuple(
        oracle.Role(f"{home.name}r{n}", home, draw(some(oracle.PERMISSIONS, 2)))
        for home in organizations
        for n in (0, 1)
    )
    teams = tuple(oracle.Team(f"{home.name}t{n}", home) for home in organizations for n in (0, 1))
    memberships = tuple(
        oracle.Membership(
            user,
            home,
            active=draw(usually),
            # Its own ones more often than stray ones of another organisation.
            roles=draw(some([*of(home, roles), *roles], 4)),
            teams=draw(some([*of(home, teams), *teams], 4)),
        )
        for user in users
        for home in organizations
        if draw(usually)
    )
    number = draw(st.integers(4, 9))  # more cost no more queries
    sources = tuple(draw(_source(f"s{n}", organizations, users, roles, teams)) for n in range(number))
    return oracle.World(organizations, users, roles, teams, memberships, sources)


@st.composite
def _source(
    draw: st.DrawFn,
    name: str,
    organizations: Sequence[oracle.Organization],
    users: Sequence[oracle.User],
    roles: Sequence[oracle.Role],
    teams: Sequence[oracle.Team],
) -> oracle.Source:
    home = draw(st.sampled_from(organizations))
    visibility = draw(st.sampled_from((*oracle.VISIBILITIES, "role", "team")))  # these two can go wrong in more ways
    fitting = {"role": [*of(home, roles), *roles], "team": [*of(home, teams), *teams], "private": users}.get(
        visibility, ()
    )
    return oracle.Source(
        name,
        home,
        visibility,
        owner=draw(st.none() | st.sampled_from(users)),
        granted=draw(some([*fitting, *fitting, *users, *roles, *teams], 5)),
        deleted=draw(seldom),
    )


class Rows(NamedTuple):
    """The rows of a world: the callers with None for the anonymous one, and the sources' names by key."""

    callers: dict[oracle.User | None, Caller]
    names: dict[Any, str]


def build(world: oracle.World) -> Rows:
    homes: dict[Any, Organization] = {
        each: Organization(name=each.name, slug=each.name, is_active=each.active) for each in world.organizations
    }
    users: dict[Any, User] = {
        each: User(
            email=f"{each.name}@x.example", is_active=each.active, is_staff=each.staff, is_superuser=each.superuser
        )
        for each in world.users
    }
    roles: dict[Any, Role] = {
        each: Role(organization=homes[each.organization], name=each.name, permissions=sorted(each.permissions))
        for each in world.roles
    }
    teams: dict[Any, Team] = {each: Team(organization=homes[each.organization], name=each.name) for each in world.teams}
    memberships = {
        each: Membership(user=users[each.user], organization=homes[each.organization], is_active=each.active)
        for each in world.memberships
    }
    model = EmbeddingModel.objects.default()
    sources = {
        each: DataSource(
            organization=homes[each.organization],
            name=each.name,
            slug=each.name,
            visibility=each.visibility,
            owner=users[each.owner] if each.owner else None,
            embedding_model=model,
            deleted_at=timezone.now() if each.deleted else None,
        )
        for each in world.sources
    }
    for rows in (homes, users, roles, teams, memberships, sources):
        _insert(rows.values())
    _insert(
        Membership.roles.through(membership=row, role=roles[role])
        for each, row in memberships.items()
        for role in each.roles
    )
    _insert(
        Membership.teams.through(membership=row, team=teams[team])
        for each, row in memberships.items()
        for team in each.teams
    )
    _insert(
        Grant(source=row, user=users.get(to), role=roles.get(to), team=teams.get(to))
        for each, row in sources.items()
        for to in each.granted
    )
    return Rows({**users, None: AnonymousUser()}, {row.pk: each.name for each, row in sources.items()})


def fill(sources: Iterable[DataSource]) -> None:
    """Into each source a document, its chunk and vector, and a job."""
    sizes = {"chunk_size": 1000, "chunk_overlap": 0}
    documents = [
        Document(source=source, path="a", title="a", text="a", chunk_count=1, revision=uuid7(), **sizes)
        for source in sources
    ]
    chunks = [Chunk(source=d.source, document=d, position=0, start=0, end=1, text="a", tokens=1) for d in documents]
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
