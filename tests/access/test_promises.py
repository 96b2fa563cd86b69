"""The access rule's promises one by one, each beside the sentence of contracts/RESOLUTION.md that makes it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db.models import Model
from django.utils import timezone

from accounts.models import User
from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from orgs.models import AnyUser, Membership, Role, Team
from orgs.services import add_member
from rag.models import Action, Chunk, DataSource, Document, Grant, IngestionJob
from rag.models.content.pgvector_tables import Embedding384
from tests.access.worlds import fill
from tests.support.factories import World

QUERY, INGEST, MANAGE, VIEW = Action.QUERY, Action.INGEST, Action.MANAGE, Action.VIEW
NOTHING: set[Action] = set()
CLOSED = (Visibility.ROLE, Visibility.TEAM, Visibility.PRIVATE, Visibility.PERSONAL)
FITTING = {(Visibility.ROLE, "role"), (Visibility.TEAM, "team"), (Visibility.PRIVATE, "user")}


def actions(user: AnyUser, source: DataSource) -> set[Action]:
    """What the user may do with the source now. VIEW is left out: it must go with any of the others."""
    allowed = {
        action for action in Action if DataSource.objects.filter(pk=source.pk).visible_to(Caller(user), action).exists()
    }
    assert (VIEW in allowed) == bool(allowed - {VIEW}), "VIEW is any of the three"
    return allowed - {VIEW}


def grant(source: DataSource, *names: str) -> None:
    """To home's role `member`, its team `support` and its user `supporter`, who is in both."""
    chosen: dict[str, Model] = {
        "role": Role.objects.get(organization__slug="home", name="member"),
        "team": Team.objects.get(organization__slug="home", name="support"),
        "user": User.objects.get(email="supporter@home.example"),
    }
    for name in names:
        source.grants.create(**{name: chosen[name]})


def closed_to_most(world: World, visibility: str, **fields: Any) -> DataSource:
    source = world.source(visibility, visibility=visibility, **{"owner": None, **fields})
    grant(source, *(kind for fitting, kind in FITTING if fitting == visibility))
    return source


def test_public_is_open_to_every_member(world: World) -> None:
    """“`public` every member of the organisation”"""
    source = world.source(owner=None)
    assert all(QUERY in actions(world.users[name], source) for name in ("owner", "admin", "editor", "member"))


@pytest.mark.parametrize("granted", ["role", "team", "user"])
@pytest.mark.parametrize("visibility", CLOSED)
def test_a_source_opens_by_its_own_kind_of_grant(world: World, visibility: str, granted: str) -> None:
    """“… holding one of the source's roles · … one of its teams · … assigned to it · … its owner only”"""
    source = world.source(visibility=visibility, owner=None)
    assert actions(world.users["supporter"], source) == NOTHING
    grant(source, granted)
    assert actions(world.users["supporter"], source) == ({QUERY} if (visibility, granted) in FITTING else NOTHING)
    assert actions(world.users["editor"], source) == {INGEST}


def test_personal_is_its_owners_only(world: World) -> None:
    """“`personal` its owner only”, and of the other kinds the owner is not by that a reader."""
    personal = world.source("own", visibility=Visibility.PERSONAL, owner=world.users["member"])
    grant(personal, "role", "team", "user")
    assert actions(world.users["member"], personal) == {QUERY, INGEST}
    assert actions(world.users["supporter"], personal) == NOTHING
    for visibility in CLOSED[:3]:
        source = world.source(visibility, visibility=visibility, owner=world.users["member"])
        assert actions(world.users["member"], source) == {INGEST}


@pytest.mark.parametrize("visibility", CLOSED)
def test_nothing_widens_queries(world: World, visibility: str) -> None:
    """“Nothing widens this for queries: not `is_staff`, not `is_superuser`, not being organisation owner.”"""
    source = closed_to_most(world, visibility)
    root = User.objects.create_superuser("root@home.example")
    staff = User.objects.create_user("staff@home.example", is_staff=True)
    for user in (root, staff):
        add_member(user=user, organization=world.home, roles=("owner",))
    for powerful in (root, staff, world.users["owner"], world.users["admin"]):
        assert actions(powerful, source) == {INGEST, MANAGE}


def test_a_superuser_sees_and_manages_every_source_and_reads_none(world: World) -> None:
    """Running the platform is managing: it needs no membership, and by itself opens neither reading nor writing."""
    root = User.objects.create_superuser("root@platform.example")
    for source in (world.source(), world.source("far", organization=world.abroad, visibility=Visibility.PRIVATE)):
        assert actions(root, source) == {MANAGE}
    assert DataSource.objects.visible_to(Caller(root), VIEW).count() == 2


def test_staff_may_open_the_admin_and_no_more(world: World) -> None:
    """“Managing (seeing that it exists, settings, jobs, deletion) is a permission of organisation roles”"""
    User.objects.filter(pk=world.users["member"].pk).update(is_staff=True)
    staff = User.objects.get(pk=world.users["member"].pk)
    assert actions(staff, world.source(owner=None)) == {QUERY}
    assert actions(staff, world.source("closed", visibility=Visibility.PRIVATE)) == NOTHING


@pytest.mark.parametrize("visibility", Visibility.values)
def test_foreign_and_anonymous_users_see_nothing(world: World, visibility: str) -> None:
    """“An object the caller may not see does not exist for them”: not even if they own it."""
    source = closed_to_most(world, visibility, owner=world.users["foreigner"])
    source.grants.get_or_create(user=world.users["foreigner"])
    for stranger in (world.users["foreigner"], AnonymousUser(), User.objects.create_user("new@nowhere.example")):
        assert actions(stranger, source) == NOTHING


def test_an_editor_writes_but_does_not_thereby_read(world: World) -> None:
    """“ingesting: `sources.ingest`”, and “Nothing widens this for queries”"""
    editor = world.users["editor"]
    closed, public = world.source("closed", visibility=Visibility.PRIVATE), world.source("public")
    fill([closed])
    assert actions(editor, closed) == {INGEST}
    assert actions(editor, public) == {INGEST, QUERY}
    assert actions(world.users["member"], public) == {QUERY}
    for model in (Document, Chunk, Embedding384):
        assert [model.objects.visible_to(Caller(editor), action).count() for action in (INGEST, QUERY)] == [1, 0]


def test_an_owner_writes_while_a_member(world: World) -> None:
    """“ingesting: … or being the source's owner”: of the organisation's members"""
    source = world.source(visibility=Visibility.PERSONAL, owner=world.users["member"])
    assert actions(world.users["member"], source) == {QUERY, INGEST}
    Membership.objects.get(user=world.users["member"]).delete()
    assert actions(world.users["member"], source) == NOTHING


def test_permissions_stay_in_their_organisation(world: World) -> None:
    """“a permission of organisation roles”: an admin abroad is a plain member at home."""
    foreigner = world.users["foreigner"]
    add_member(user=foreigner, organization=world.abroad, roles=("admin",))
    at_home = add_member(user=foreigner, organization=world.home)
    at_home.roles.add(world.abroad.roles.get(name="admin"))  # no form allows it
    assert actions(foreigner, world.source(owner=None)) == {QUERY}
    assert actions(foreigner, world.source("closed", visibility=Visibility.ROLE)) == NOTHING


def test_grants_to_another_organisations_role_or_team_are_none(world: World) -> None:
    """“`role` members holding one of the source's roles · `team` members of one of its teams”"""
    supporter = world.users["supporter"]
    role, team = world.abroad.roles.get(name="member"), world.abroad.teams.create(name="support")
    by_role = world.source("r", visibility=Visibility.ROLE, owner=None)
    by_role.grants.create(role=role)
    by_team = world.source("t", visibility=Visibility.TEAM, owner=None)
    by_team.grants.create(team=team)
    add_member(user=supporter, organization=world.abroad, teams=("support",))
    assert actions(supporter, by_role) == actions(supporter, by_team) == NOTHING
    at_home = Membership.objects.get(user=supporter, organization=world.home)
    at_home.roles.add(role)  # no form allows it
    at_home.teams.add(team)
    assert actions(supporter, by_role) == actions(supporter, by_team) == NOTHING


@pytest.mark.parametrize("kind", ["role", "team"])
def test_roles_and_teams_count_where_they_are_held(world: World, kind: str) -> None:
    """A membership abroad that names a role or team of home, which no form allows, opens nothing at home."""
    foreigner = world.users["foreigner"]
    add_member(user=foreigner, organization=world.home, roles=())
    abroad = Membership.objects.get(user=foreigner, organization=world.abroad)
    abroad.roles.add(*world.home.roles.all())
    abroad.teams.add(*world.home.teams.all())
    assert actions(foreigner, closed_to_most(world, kind)) == NOTHING


def test_whoever_is_in_a_team_is_in_the_teams_above_it(world: World) -> None:
    """docs/contracts/access.md: upwards, within the organisation, and to an end where rows hold a cycle."""
    support = world.home.teams.get(name="support")
    service, company = (world.home.teams.create(name=name) for name in ("service", "company"))
    elsewhere = world.abroad.teams.create(name="elsewhere", parent=company)
    opened = {}
    for team in (support, service, company):
        opened[team.name] = world.source(team.name, visibility=Visibility.TEAM, owner=None)
        opened[team.name].grants.create(team=team)
    supporter, member = world.users["supporter"], world.users["member"]
    add_member(user=member, organization=world.home, teams=("company",))

    def readable(user: User) -> set[str]:
        return {name for name, source in opened.items() if QUERY in actions(user, source)}

    def nest(*pairs: tuple[Team, Team | None]) -> None:
        for team, parent in pairs:
            Team.objects.filter(pk=team.pk).update(parent=parent)

    assert readable(supporter) == {"support"}
    nest((support, service), (service, company))
    assert readable(supporter) == {"support", "service", "company"}
    assert readable(member) == {"company"}, "and not in those below"
    nest((company, support))
    assert readable(member) == readable(supporter) == {"support", "service", "company"}, "a cycle is one team"
    nest((service, elsewhere), (company, None))
    assert readable(supporter) == {"support", "service"}, "what is above a foreign parent is not reached through it"
    nest((service, service))
    assert readable(supporter) == {"support", "service"}


@pytest.mark.parametrize("kind", ["role", "team", "user"])
def test_a_grant_counts_until_it_ends(world: World, kind: str) -> None:
    """docs/contracts/access.md: an assignment to a user, role or team that has expired has no effect."""
    visibility = next(fitting for fitting, each in FITTING if each == kind)
    source, supporter = closed_to_most(world, visibility), world.users["supporter"]
    for ahead, expected in ((timedelta(hours=1), {QUERY}), (timedelta(), NOTHING), (-timedelta(days=1), NOTHING)):
        Grant.objects.update(expires_at=timezone.now() + ahead)
        assert actions(supporter, source) == expected
    Grant.objects.update(expires_at=None)
    assert actions(supporter, source) == {QUERY}


# How the supporter could read the source, and what ends it, given their membership.
TAKINGS: dict[str, tuple[str, Callable[[Any], object]]] = {
    "leaving the role": ("role", lambda m: m.roles.remove(*m.roles.filter(name="member"))),
    "leaving the team": ("team", lambda m: m.teams.clear()),
    "the grant is withdrawn": ("private", lambda m: DataSource.objects.get().grants.all().delete()),
    "the membership is suspended": ("public", lambda m: Membership.objects.filter(pk=m.pk).update(is_active=False)),
    "the membership ends": ("private", lambda m: m.delete()),
    "the user is deactivated": ("public", lambda m: User.objects.filter(pk=m.user_id).update(is_active=False)),
    "the organisation is closed": ("team", lambda m: type(m.organization).objects.update(is_active=False)),
    "the source is deleted": ("role", lambda m: DataSource.objects.update(deleted_at=timezone.now())),
    "the source becomes private": ("public", lambda m: DataSource.objects.update(visibility=Visibility.PERSONAL)),
}


@pytest.mark.parametrize("taking", TAKINGS)
def test_what_is_taken_away_is_gone_with_the_next_query(world: World, taking: str) -> None:
    """“Deleting a source … makes it invisible at once”, and “who may query” says who may now, not who could."""
    visibility, take = TAKINGS[taking]
    source, supporter = closed_to_most(world, visibility), world.users["supporter"]
    assert actions(supporter, source) == {QUERY}
    take(Membership.objects.get(user=supporter))
    # The user's row was loaded before and does not know.
    assert actions(supporter, source) == NOTHING


def test_taking_access_away_stops_writing_and_managing_too(world: World) -> None:
    """“Switch off instead of deleting: every credential stops working at once” (accounts/models.py)"""
    source = world.source()
    root, former = (User.objects.create_superuser(f"{name}@platform.example") for name in ("root", "former"))
    held = {"admin": {QUERY, INGEST, MANAGE}, "editor": {QUERY, INGEST}, "owner": {QUERY, INGEST, MANAGE}}
    for name, before in held.items():
        assert actions(world.users[name], source) == before
    assert actions(root, source) == actions(former, source) == {MANAGE}
    Membership.objects.filter(user=world.users["admin"]).update(is_active=False)
    Membership.objects.get(user=world.users["editor"]).roles.clear()
    User.objects.filter(pk__in=(world.users["owner"].pk, root.pk)).update(is_active=False)
    assert actions(world.users["admin"], source) == NOTHING
    assert actions(world.users["editor"], source) == {QUERY}
    User.objects.filter(pk=former.pk).update(is_superuser=False)
    assert actions(world.users["owner"], source) == NOTHING
    assert actions(root, source) == actions(former, source) == NOTHING
    assert actions(User.objects.get(pk=root.pk), source) == NOTHING


def test_what_is_gone_is_gone_for_superusers_too(world: World) -> None:
    """“Deleting a source or document makes it invisible at once”"""
    root = User.objects.create_superuser("root@platform.example")
    elsewhere = world.source("far", organization=world.abroad)
    assert actions(root, world.source("deleted", deleted_at=timezone.now())) == NOTHING
    assert actions(root, elsewhere) == {MANAGE}
    world.abroad.is_active = False
    world.abroad.save()
    assert actions(root, elsewhere) == NOTHING


def test_jobs_are_watched_by_who_writes_or_manages(world: World) -> None:
    """“Managing (seeing that it exists, settings, jobs, deletion)” and “ingesting”; a reader has no part in it."""
    source = world.source(owner=world.users["supporter"])
    fill([source])
    manager = world.home.roles.create(name="manager", permissions=["sources.manage"])
    Membership.objects.create(user=world.users["foreigner"], organization=world.home).roles.add(manager)
    watching = {name: IngestionJob.objects.visible_to(Caller(user), VIEW).count() for name, user in world.users.items()}
    assert watching == {"owner": 1, "admin": 1, "editor": 1, "supporter": 1, "foreigner": 1, "member": 0}
    assert Document.objects.visible_to(Caller(world.users["member"]), VIEW).count() == 1
