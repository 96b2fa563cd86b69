"""The explanation of access: its verdict equals the access rule's, and its reason is the one that decides."""

import datetime
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from accounts.models import User
from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from orgs.creation import add_member
from orgs.models import Membership, Team
from rag.models import Action, DataSource
from rag.services.access import explain_access
from tests.access.rule import oracle
from tests.access.worlds import build, worlds
from tests.support.data.database import rolled_back
from tests.support.factories import World

pytestmark = pytest.mark.django_db
ACCESS = "/api/rag/sources/library/access"


@given(world=worlds(), who=st.integers(0, 3))
@settings(max_examples=20, phases=set(Phase) - {Phase.explain})
def test_the_explained_verdict_equals_the_access_rule(world: oracle.World, who: int) -> None:
    """A reason that contradicts the rule would be logged."""
    with rolled_back(), capture_logs() as log:
        build(world)
        people = User.objects.order_by("email")
        person = people[who % people.count()]
        visible = {
            action: set(DataSource.objects.visible_to(Caller(person), action).values_list("pk", flat=True))
            for action in explain_access.ACTIONS
        }
        for source in DataSource.objects.select_related("organization", "owner"):
            for verdict in explain_access.explain_access(source, person):
                assert verdict.is_allowed == (source.pk in visible[verdict.action]), verdict
        # Only this event: a thread of a server that an earlier test has stopped may still end a stream.
        assert [entry for entry in log if entry["event"] == "access_reason_disagrees"] == []


def reason(source: DataSource, person: User | None, action: Action = Action.QUERY) -> str:
    source = DataSource.objects.get(pk=source.pk)
    (verdict,) = [verdict for verdict in explain_access.explain_access(source, person) if verdict.action is action]
    return verdict.reason


def test_the_reason_names_the_visibility(world: World) -> None:
    source, member, supporter = world.source("s"), world.users["member"], world.users["supporter"]
    assert reason(source, member) == "May query: the source is public, open to every member of the organisation."
    DataSource.objects.update(visibility=Visibility.PERSONAL)
    assert reason(source, world.users["owner"]).endswith("personal, and owner@home.example owns it.")
    assert reason(source, member) == "May not query: the source is personal, and owner@home.example owns it."
    DataSource.objects.update(visibility=Visibility.TEAM)
    assert "the source is open to chosen teams, but no team is chosen." in reason(source, member)
    source.grants.create(team=Team.objects.get(name="support"))
    assert reason(source, supporter).endswith("open to team `support`, which supporter@home.example is in.")
    assert reason(source, member).endswith("open to team `support`, and member@home.example is in no such team.")
    DataSource.objects.update(visibility=Visibility.ROLE)
    source.grants.create(role=world.home.roles.get(name="editor"))
    assert reason(source, world.users["editor"]).endswith("open to role `editor`, which editor@home.example holds.")
    assert reason(source, member).endswith("open to role `editor`, and member@home.example holds no such role.")
    DataSource.objects.update(visibility=Visibility.PRIVATE)
    assert reason(source, member).endswith("open to chosen people, and there is no grant to this user.")
    source.grants.create(user=member)
    assert "member@home.example is one of them, by the grant of" in reason(source, member)


def test_the_reason_for_ingesting_or_managing_names_the_role(world: World) -> None:
    source, users = world.source("s"), world.users
    assert "holds role `editor`, which allows sending" in reason(source, users["editor"], Action.INGEST)
    assert "holds no role that allows sending documents" in reason(source, users["member"], Action.INGEST)
    DataSource.objects.update(owner=users["member"])
    assert reason(source, users["member"], Action.INGEST) == "May ingest: member@home.example owns the source."
    assert (
        reason(source, users["member"], Action.MANAGE) == "May manage: member@home.example is the owner of the source."
    )
    assert "holds role `admin`, which allows managing" in reason(source, users["admin"], Action.MANAGE)
    assert "holds no role that allows managing" in reason(source, users["editor"], Action.MANAGE)
    chief = User.objects.create_superuser("chief@platform.example")
    assert "is a superuser, and manages every source" in reason(source, chief, Action.MANAGE)
    assert reason(source, chief) == "May not query: this person is not a member of the organisation."


def test_the_reason_that_ends_all_access_comes_first(world: World) -> None:
    source, member = world.source("s"), world.users["member"]
    Membership.objects.filter(user=member).update(is_active=False)
    assert reason(source, member) == "May not query: the membership of member@home.example is inactive."
    User.objects.filter(pk=member.pk).update(is_active=False)
    member.refresh_from_db()
    assert reason(source, member) == "May not query: the account of member@home.example is deactivated."
    type(world.home).objects.filter(pk=world.home.pk).update(is_active=False)
    assert reason(source, member) == "May not query: the organisation Home is closed."
    DataSource.objects.update(deleted_at=timezone.now())
    assert reason(source, member) == "May not query: the source is deleted."


def test_the_reason_names_the_dates_of_an_expired_grant(world: World) -> None:
    source, member = world.source("s", visibility=Visibility.PRIVATE), world.users["member"]
    ended = datetime.datetime(2026, 6, 1, 12, tzinfo=datetime.UTC)
    grant = source.grants.create(user=member, expires_at=ended)
    type(grant).objects.update(granted_at=datetime.datetime(2026, 5, 3, 12, tzinfo=datetime.UTC))
    assert reason(source, member) == (
        "May not query: the source is open to chosen people, and there is no grant to this user; "
        "the grant of 3 May 2026 ended on 1 June 2026."
    )


def test_the_reason_names_the_team_and_its_parent_team(world: World) -> None:
    support = Team.objects.get(name="support")
    add_member(user=world.users["member"], organization=world.home, teams=("emea",))
    Team.objects.filter(name="emea").update(parent=support)
    source = world.source("s", visibility=Visibility.TEAM)
    source.grants.create(team=support)
    assert reason(source, world.users["member"]) == (
        "May query: the source is open to team `support`, and the membership of member@home.example has team `emea`, "
        "which is part of it."
    )


def ask(world: World, user: str, about: str, *scopes: str, path: str = ACCESS) -> tuple[int, Any]:
    key = world.key(user, *scopes).secret
    reply = Client().get(path, {"user": about}, headers={"X-API-Key": key})
    return reply.status_code, reply.json()


def test_only_managers_of_a_source_get_an_explanation(world: World) -> None:
    world.source("library")
    status, body = ask(world, "admin", "MEMBER@home.example")
    assert (status, body["user"]) == (200, "MEMBER@home.example")
    assert [(verdict["action"], verdict["allowed"]) for verdict in body["access"]] == [
        ("query", True),
        ("ingest", False),
        ("manage", False),
    ]
    assert ask(world, "admin", str(world.users["member"].pk))[1]["access"] == body["access"]
    assert ask(world, "member", "member@home.example")[0] == 403
    assert ask(world, "admin", "member@home.example", "query", "ingest")[0] == 403
    DataSource.objects.update(visibility=Visibility.PERSONAL)
    missing = ask(world, "member", "x", path="/api/rag/sources/none/access")
    hidden = ask(world, "member", "x")
    assert (hidden[0], hidden[1]["message"]) == (404, missing[1]["message"])
    assert ask(world, "admin", "x" * 255)[0] == 400
    assert ask(world, "admin", "")[0] == 400


def test_a_manager_does_not_learn_which_accounts_exist(world: World) -> None:
    """The answer is the same for an account of another organisation, its id, a superuser and an unknown address."""
    world.source("library")
    User.objects.create_superuser("chief@platform.example")
    foreigner = world.users["foreigner"]
    answers = [
        ask(world, "admin", about)[1]["access"]
        for about in (foreigner.email, str(foreigner.pk), "chief@platform.example", "nobody@nowhere.example")
    ]
    assert all(answer == answers[0] for answer in answers)
    assert [verdict["allowed"] for verdict in answers[0]] == [False] * 3
    assert "not a member of the organisation" in answers[0][0]["reason"]
