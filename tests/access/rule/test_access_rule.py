"""The sentences of the access rule, one test each. Docstrings quote the shared rules (docs/contracts/README.md)."""

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
from orgs.creation import add_member
from orgs.models import AnyUser, Membership, Role, Team
from rag.models import Action, Chunk, DataSource, Document, Grant, IngestionJob
from rag.models.content.pgvector_tables import Embedding384
from tests.access.worlds import add_content
from tests.support.factories import World

QUERY, INGEST, MANAGE, VIEW = Action.QUERY, Action.INGEST, Action.MANAGE, Action.VIEW
NOTHING: set[Action] = set()
CLOSED = (Visibility.ROLE, Visibility.TEAM, Visibility.PRIVATE, Visibility.PERSONAL)
GRANT_KINDS = {(Visibility.ROLE, "role"), (Visibility.TEAM, "team"), (Visibility.PRIVATE, "user")}


def actions(user: AnyUser, source: DataSource) -> set[Action]:
    """What the user may do with the source now. VIEW is left out, because any other action implies it."""
    allowed = {
        action for action in Action if DataSource.objects.filter(pk=source.pk).visible_to(Caller(user), action).exists()
    }
    assert (VIEW in allowed) == bool(allowed - {VIEW}), "VIEW is allowed if any other action is"
    return allowed - {VIEW}


def grant(source: DataSource, *names: str) -> None:
    """Grants access to home's role `member`, its team `support` or its user `supporter`, who has both."""
    chosen: dict[str, Model] = {
        "role": Role.objects.get(organization__slug="home", name="member"),
        "team": Team.objects.get(organization__slug="home", name="support"),
        "user": User.objects.get(email="supporter@home.example"),
    }
    for name in names:
        source.grants.create(**{name: chosen[name]})


def source_with_grants(world: World, visibility: str, **fields: Any) -> DataSource:
    """A source with the kind of grant that its visibility uses. It includes the supporter."""
    source = world.source(visibility, visibility=visibility, **{"owner": None, **fields})
    grant(source, *(kind for granting, kind in GRANT_KINDS if granting == visibility))
    return source


def test_public_is_open_to_every_member(world: World) -> None:
    """“`public` every member of the organisation”"""
    source = world.source(owner=None)
    assert all(QUERY in actions(world.users[name], source) for name in ("owner", "admin", "editor", "member"))


@pytest.mark.parametrize("granted", ["role", "team", "user"])
@pytest.mark.parametrize("visibility", CLOSED)
def test_only_grants_of_the_visibilitys_kind_open_a_source(world: World, visibility: str, granted: str) -> None:
    """“… holding one of the source's roles · … one of its teams · … assigned to it · … its owner only”"""
    source = world.source(visibility=visibility, owner=None)
    assert actions(world.users["supporter"], source) == NOTHING
    grant(source, granted)
    assert actions(world.users["supporter"], source) == ({QUERY} if (visibility, granted) in GRANT_KINDS else NOTHING)
    assert actions(world.users["editor"], source) == {INGEST}


def test_only_the_owner_reads_a_personal_source(world: World) -> None:
    """“`personal` its owner only”. With other visibilities, ownership alone does not allow queries."""
    personal = world.source("own", visibility=Visibility.PERSONAL, owner=world.users["member"])
    grant(personal, "role", "team", "user")
    assert actions(world.users["member"], personal) == {QUERY, INGEST, MANAGE}
    assert actions(world.users["supporter"], personal) == NOTHING
    for visibility in CLOSED[:3]:
        source = world.source(visibility, visibility=visibility, owner=world.users["member"])
        assert actions(world.users["member"], source) == {INGEST, MANAGE}


@pytest.mark.parametrize("visibility", CLOSED)
def test_no_role_or_flag_widens_queries(world: World, visibility: str) -> None:
    """“Nothing widens this for queries: not `is_staff`, not `is_superuser`, not being organisation owner.”"""
    source = source_with_grants(world, visibility)
    root = User.objects.create_superuser("root@home.example")
    staff = User.objects.create_user("staff@home.example", is_staff=True)
    for user in (root, staff):
        add_member(user=user, organization=world.home, roles=("owner",))
    for powerful in (root, staff, world.users["owner"], world.users["admin"]):
        assert actions(powerful, source) == {INGEST, MANAGE}


def test_a_superuser_manages_every_source_but_reads_none(world: World) -> None:
    """Superusers manage without a membership; they need one to read or write."""
    root = User.objects.create_superuser("root@platform.example")
    for source in (world.source(), world.source("far", organization=world.abroad, visibility=Visibility.PRIVATE)):
        assert actions(root, source) == {MANAGE}
    assert DataSource.objects.visible_to(Caller(root), VIEW).count() == 2


def test_staff_have_no_additional_access(world: World) -> None:
    """“Managing (seeing that it exists, settings, jobs, deletion) is a permission of organisation roles”"""
    User.objects.filter(pk=world.users["member"].pk).update(is_staff=True)
    staff = User.objects.get(pk=world.users["member"].pk)
    assert actions(staff, world.source(owner=None)) == {QUERY}
    assert actions(staff, world.source("closed", visibility=Visibility.PRIVATE)) == NOTHING


@pytest.mark.parametrize("visibility", Visibility.values)
def test_foreign_and_anonymous_users_see_nothing(world: World, visibility: str) -> None:
    """“An object the caller may not see does not exist for them”: not even if they own it."""
    source = source_with_grants(world, visibility, owner=world.users["foreigner"])
    source.grants.get_or_create(user=world.users["foreigner"])
    for stranger in (world.users["foreigner"], AnonymousUser(), User.objects.create_user("new@nowhere.example")):
        assert actions(stranger, source) == NOTHING


def test_permission_to_ingest_does_not_allow_reading(world: World) -> None:
    """“ingesting: `sources.ingest`”, and “Nothing widens this for queries”"""
    editor = world.users["editor"]
    closed, public = world.source("closed", visibility=Visibility.PRIVATE), world.source("public")
    add_content([closed])
    assert actions(editor, closed) == {INGEST}
    assert actions(editor, public) == {INGEST, QUERY}
    assert actions(world.users["member"], public) == {QUERY}
    for model in (Document, Chunk, Embedding384):
        assert [model.objects.visible_to(Caller(editor), action).count() for action in (INGEST, QUERY)] == [1, 0]


def test_an_owner_writes_and_manages_only_while_a_member(world: World) -> None:
    """“ingesting: … or being the source's owner”, and managing: only while the owner is a member."""
    source = world.source(visibility=Visibility.PERSONAL, owner=world.users["member"])
    assert actions(world.users["member"], source) == {QUERY, INGEST, MANAGE}
    Membership.objects.get(user=world.users["member"]).delete()
    assert actions(world.users["member"], source) == NOTHING


def test_permissions_apply_only_in_their_organisation(world: World) -> None:
    """“a permission of organisation roles”: an admin of `abroad` may be an ordinary member of `home`."""
    foreigner = world.users["foreigner"]
    add_member(user=foreigner, organization=world.abroad, roles=("admin",))
    at_home = add_member(user=foreigner, organization=world.home)
    at_home.roles.add(world.abroad.roles.get(name="admin"))  # no form allows it
    assert actions(foreigner, world.source(owner=None)) == {QUERY}
    assert actions(foreigner, world.source("closed", visibility=Visibility.ROLE)) == NOTHING


def test_grants_to_another_organisations_role_or_team_are_ignored(world: World) -> None:
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
def test_roles_and_teams_apply_only_in_the_memberships_organisation(world: World, kind: str) -> None:
    """A membership in `abroad` with a role or team of `home`, which no form allows, opens nothing in `home`."""
    foreigner = world.users["foreigner"]
    add_member(user=foreigner, organization=world.home, roles=())
    abroad = Membership.objects.get(user=foreigner, organization=world.abroad)
    abroad.roles.add(*world.home.roles.all())
    abroad.teams.add(*world.home.teams.all())
    assert actions(foreigner, source_with_grants(world, kind)) == NOTHING


def test_members_of_a_team_belong_to_its_parent_teams(world: World) -> None:
    """docs/contracts/access.md: within the organisation only, and cycles of parents end."""
    support = world.home.teams.get(name="support")
    service, company = (world.home.teams.create(name=name) for name in ("service", "company"))
    elsewhere = world.abroad.teams.create(name="elsewhere", parent=company)
    sources = {}
    for team in (support, service, company):
        sources[team.name] = world.source(team.name, visibility=Visibility.TEAM, owner=None)
        sources[team.name].grants.create(team=team)
    supporter, member = world.users["supporter"], world.users["member"]
    add_member(user=member, organization=world.home, teams=("company",))

    def readable(user: User) -> set[str]:
        return {name for name, source in sources.items() if QUERY in actions(user, source)}

    def nest(*pairs: tuple[Team, Team | None]) -> None:
        for team, parent in pairs:
            Team.objects.filter(pk=team.pk).update(parent=parent)

    assert readable(supporter) == {"support"}
    nest((support, service), (service, company))
    assert readable(supporter) == {"support", "service", "company"}
    assert readable(member) == {"company"}, "membership does not extend to child teams"
    nest((company, support))
    assert readable(member) == readable(supporter) == {"support", "service", "company"}, "a cycle is one team"
    nest((service, elsewhere), (company, None))
    assert readable(supporter) == {"support", "service"}, "a parent in another organisation ends the chain"
    nest((service, service))
    assert readable(supporter) == {"support", "service"}


@pytest.mark.parametrize("kind", ["role", "team", "user"])
def test_a_grant_applies_until_it_expires(world: World, kind: str) -> None:
    """docs/contracts/access.md: an assignment to a user, role or team that has expired has no effect."""
    visibility = next(granting for granting, granted in GRANT_KINDS if granted == kind)
    source, supporter = source_with_grants(world, visibility), world.users["supporter"]
    for ahead, expected in ((timedelta(hours=1), {QUERY}), (timedelta(), NOTHING), (-timedelta(days=1), NOTHING)):
        Grant.objects.update(expires_at=timezone.now() + ahead)
        assert actions(supporter, source) == expected
    Grant.objects.update(expires_at=None)
    assert actions(supporter, source) == {QUERY}


# The source's visibility, and what ends the supporter's access, given their membership.
WITHDRAWALS: dict[str, tuple[str, Callable[[Any], object]]] = {
    "leaving the role": ("role", lambda m: m.roles.remove(*m.roles.filter(name="member"))),
    "leaving the team": ("team", lambda m: m.teams.clear()),
    "the team is deleted": ("team", lambda m: m.teams.get().delete()),
    "the role is deleted": ("role", lambda m: m.roles.get(name="member").delete()),
    "the grant is withdrawn": ("private", lambda m: DataSource.objects.get().grants.all().delete()),
    "the membership is suspended": ("public", lambda m: Membership.objects.filter(pk=m.pk).update(is_active=False)),
    "the membership ends": ("private", lambda m: m.delete()),
    "the user is deactivated": ("public", lambda m: User.objects.filter(pk=m.user_id).update(is_active=False)),
    "the organisation is closed": ("team", lambda m: type(m.organization).objects.update(is_active=False)),
    "the source is deleted": ("role", lambda m: DataSource.objects.update(deleted_at=timezone.now())),
    "the source becomes private": ("public", lambda m: DataSource.objects.update(visibility=Visibility.PERSONAL)),
}


@pytest.mark.parametrize("withdrawal", WITHDRAWALS)
def test_withdrawn_access_ends_with_the_next_query(world: World, withdrawal: str) -> None:
    """“Deleting a source … makes it invisible at once”, and “who may query” means who may query now."""
    visibility, withdraw = WITHDRAWALS[withdrawal]
    source, supporter = source_with_grants(world, visibility), world.users["supporter"]
    assert actions(supporter, source) == {QUERY}
    withdraw(Membership.objects.get(user=supporter))
    # The user object was loaded before the change.
    assert actions(supporter, source) == NOTHING


def test_withdrawn_access_ends_writing_and_managing(world: World) -> None:
    """“Switch off instead of deleting: every credential stops working at once” (accounts/models.py)"""
    source = world.source()
    root, former = (User.objects.create_superuser(f"{name}@platform.example") for name in ("root", "former"))
    allowed = {"admin": {QUERY, INGEST, MANAGE}, "editor": {QUERY, INGEST}, "owner": {QUERY, INGEST, MANAGE}}
    for name, before in allowed.items():
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


def test_superusers_do_not_see_deleted_sources_or_closed_organisations(world: World) -> None:
    """“Deleting a source or document makes it invisible at once”"""
    root = User.objects.create_superuser("root@platform.example")
    elsewhere = world.source("far", organization=world.abroad)
    assert actions(root, world.source("deleted", deleted_at=timezone.now())) == NOTHING
    assert actions(root, elsewhere) == {MANAGE}
    world.abroad.is_active = False
    world.abroad.save()
    assert actions(root, elsewhere) == NOTHING


def test_jobs_are_visible_to_writers_and_managers_only(world: World) -> None:
    """“Managing (seeing that it exists, settings, jobs, deletion)” and “ingesting”; readers do not see jobs."""
    source = world.source(owner=world.users["supporter"])
    add_content([source])
    manager = world.home.roles.create(name="manager", permissions=["sources.manage"])
    Membership.objects.create(user=world.users["foreigner"], organization=world.home).roles.add(manager)
    watching = {name: IngestionJob.objects.visible_to(Caller(user), VIEW).count() for name, user in world.users.items()}
    assert watching == {"owner": 1, "admin": 1, "editor": 1, "supporter": 1, "foreigner": 1, "member": 0}
    assert Document.objects.visible_to(Caller(world.users["member"]), VIEW).count() == 1
