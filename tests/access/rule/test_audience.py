"""Who can query a source, in one sentence and as a matrix of people and sources."""

import datetime

from django.utils import timezone

from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from orgs.models import Role, Team
from rag.models import Action, DataSource, Grant
from rag.services.access.access_matrix import build_matrix, preview_team
from rag.services.access.audience import describe_audience, summarize_audiences
from tests.support.browsers import staff_browser
from tests.support.factories import World


def open_to(world: World, visibility: Visibility, **grant: object) -> DataSource:
    number = DataSource.objects.count()
    source = world.source(f"source-{number}", visibility=visibility)
    if grant:
        Grant.objects.create(source=source, **grant)
    return source


def test_a_source_without_grants_that_count_has_no_audience(world: World) -> None:
    team = Team.objects.get(organization=world.home)
    past = timezone.now() - datetime.timedelta(days=1)
    foreign_role = Role.objects.filter(organization=world.abroad).first()
    empty = [
        open_to(world, Visibility.TEAM),
        open_to(world, Visibility.PRIVATE, user=world.users["member"], expires_at=past),
        open_to(world, Visibility.ROLE, role=foreign_role),
        world.source("lost", visibility=Visibility.PERSONAL, owner=None),
    ]
    open_sources = [
        world.source(),
        open_to(world, Visibility.TEAM, team=team),
        open_to(world, Visibility.PRIVATE, user=world.users["member"]),
        open_to(world, Visibility.ROLE, role=Role.objects.get(organization=world.home, name="editor")),
        world.source("own", visibility=Visibility.PERSONAL),
    ]
    summaries = summarize_audiences([*empty, *open_sources])
    assert {summaries[source.pk] for source in empty} == {"nobody yet"}
    expected = ["all members", "team support", world.users["member"].email, "role editor", "only its owner"]
    assert [summaries[source.pk] for source in open_sources] == expected
    Grant.objects.create(source=open_sources[2], user=world.users["supporter"])
    assert summarize_audiences(open_sources)[open_sources[2].pk] == "2 people"
    assert all("Nobody can query" in describe_audience(source).sentence for source in empty)
    assert all(describe_audience(source).is_empty for source in empty)
    sentences = [describe_audience(source).sentence for source in open_sources]
    for sentence, name in zip(sentences, ("Home", "support", "member@", "editor", "owner@"), strict=True):
        assert name in sentence
        assert "can query this source, because" in sentence


def test_the_matrix_agrees_with_the_access_rule_and_shows_one_organisation(world: World) -> None:
    sources = {
        open_to(world, Visibility.TEAM, team=Team.objects.get(organization=world.home)),
        open_to(world, Visibility.PRIVATE, user=world.users["member"]),
        world.source("own", visibility=Visibility.PERSONAL),
    }
    world.source("foreign", organization=world.abroad, owner=world.users["foreigner"])
    matrix = build_matrix(DataSource.objects.all(), world.home)
    assert len(matrix.rows) == 5
    assert set(matrix.sources) == sources
    for row in matrix.rows:
        visible = DataSource.objects.visible_to(Caller(row.membership.user), Action.QUERY)
        for cell in row.cells:
            assert cell.is_allowed == visible.filter(pk=cell.source.pk).exists(), (row, cell)
            assert cell.reason


def test_the_preview_names_what_joining_a_team_would_open(world: World) -> None:
    team = Team.objects.get(organization=world.home)
    part = Team.objects.create(organization=world.home, name="night-shift", parent=team)
    source = open_to(world, Visibility.TEAM, team=team)
    open_to(world, Visibility.PRIVATE, user=world.users["supporter"])
    sources = DataSource.objects.all()
    assert preview_team(sources, world.users["member"], part) == [source]
    assert preview_team(sources, world.users["supporter"], part) == []


def test_the_page_of_the_matrix_is_for_those_who_manage_sources(world: World) -> None:
    world.source(name="Animals")
    url = "/admin/rag/datasource/matrix/"
    assert staff_browser(world.users["editor"]).get(url).status_code == 403
    page = staff_browser(world.users["owner"]).get(f"{url}?q=supporter").content.decode()
    assert "Animals" in page
    assert 'scope="row">supporter@home.example' in page
    assert "member@home.example</th>" not in page
    assert "foreigner@abroad.example" not in page
    world.source("others", name="Plants")
    page = staff_browser(world.users["owner"]).get(f"{url}?name=plan").content.decode()
    assert ("Plants" in page, "Animals" in page) == (True, False)
