"""Explaining a search reveals nothing about the contents of sources that the caller may not query, and is recorded."""

import itertools
import re
import uuid
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.audit.events import AuditAction, AuditEvent
from orgs.access.permissions import Scope, Visibility
from orgs.creation import add_member
from orgs.models import Team
from rag.models import DataSource, Document
from tests.support.factories import World, ingest_text

pytestmark = pytest.mark.django_db
SECRET = "The merger with Zebracorp is signed on the ninth of March by Ulrike Brandstetter."
OCCURRING = "Is the merger with Zebracorp signed in March by Ulrike Brandstetter?"
ABSENT = "How deep must tulip bulbs be planted in heavy clay soil?"
VISIBILITIES = (Visibility.PRIVATE, Visibility.ROLE, Visibility.TEAM, Visibility.PERSONAL)
MEMBER = "supporter@home.example"
# Every combination of these fields of the request.
OPTIONS: list[dict[str, Any]] = [
    dict(fields)
    for fields in itertools.product(
        (("mode", "hybrid"), ("mode", "dense"), ("mode", "lexical")),
        (("minScore", 0.0), ("minScore", 0.4)),
        (("rerank", True), ("rerank", False)),
    )
]


@pytest.fixture
def hidden(world: World) -> DataSource:
    """A source that the supporter may query and the admin may only manage."""
    source = world.source("secrets", visibility=Visibility.PRIVATE, owner=world.users["supporter"])
    source.grants.create(user=world.users["supporter"])
    source.grants.create(team=Team.objects.get(name="support"))
    ingest_text(source, "merger.md", SECRET, title="Notes")
    ingest_text(source, "tea.md", "Tea is brewed with boiling water in a warm pot.")
    return source


def explain(
    world: World, caller: str, query: str, *scopes: str, secret: str = "", status: int = 200, **fields: Any
) -> Any:
    key = secret or world.key(caller, *scopes).secret
    reply = Client().post(
        "/api/rag/explain", {"query": query, **fields}, content_type="application/json", headers={"X-API-Key": key}
    )
    assert reply.status_code == status, reply.json()
    return reply.json()


@pytest.mark.parametrize("visibility", VISIBILITIES)
def test_words_of_a_hidden_source_change_nothing(world: World, hidden: DataSource, visibility: Visibility) -> None:
    """Property: for a manager who may not query, a question that the source answers looks like any other."""
    DataSource.objects.update(visibility=visibility)
    document, secret = str(Document.objects.get(path="merger.md").pk), world.key("admin").secret
    targets: list[dict[str, Any]] = [
        {**user, **target}
        for target in ({}, {"document": document}, {"dataSources": ["secrets"], "document": document})
        for user in ({"user": MEMBER}, {})
    ]
    requests = [{**OPTIONS[0], **target} for target in targets]
    # What the visibility decides comes before the options, so that one visibility has all combinations of them, each
    # with two targets: every value of an option meets every target.
    if visibility == Visibility.PRIVATE:
        requests += [
            {**options, **targets[(number + shift) % len(targets)]}
            for number, options in enumerate(OPTIONS)
            for shift in (0, 3)
        ]
    for fields in requests:
        occurring, absent = (explain(world, "admin", query, secret=secret, **fields) for query in (OCCURRING, ABSENT))
        assert occurring == absent, fields
        assert set(occurring["funnel"].values()) == {0}
        assert (occurring["documents"], occurring["dataSources"], occurring["gaps"]) == ([], [], [])
        assert (occurring["isGroundable"], occurring["groundingScore"]) == (False, 0)
        if "document" in fields:
            assert (occurring["document"]["isFound"], occurring["document"]["stage"]) == (False, "sources")


def test_the_same_user_sees_the_trace_of_a_source_that_they_may_query(world: World, hidden: DataSource) -> None:
    """The property above is not true because the search finds nothing."""
    hidden.grants.create(user=world.users["admin"])
    occurring, absent = (explain(world, "admin", query, user=MEMBER, topK=1) for query in (OCCURRING, ABSENT))
    assert (occurring["isGroundable"], absent["isGroundable"]) == (True, False)
    assert (occurring["documents"][0]["text"], occurring["notSearched"]) == (SECRET, [])


def test_no_statement_reads_the_content_of_a_hidden_source(world: World, hidden: DataSource) -> None:
    """So neither does the time of the response depend on the content."""
    statements = []
    for query in (OCCURRING, ABSENT):
        with CaptureQueriesContext(
            connection,
        ) as captured:
            explain(world, "admin", query, user=MEMBER)
        assert not [row["sql"] for row in captured if "rag_chunk" in row["sql"] or "embedding384" in row["sql"]]
        statements.append(len(captured))
    assert statements[0] == statements[1]


def test_a_mixture_shows_only_what_the_queryable_source_shows_alone(world: World, hidden: DataSource) -> None:
    open_source, secret = world.source("library"), world.key("admin").secret
    ingest_text(open_source, "bulbs.md", "Tulip bulbs are planted fifteen centimetres deep, also in clay soil.")
    for query in (OCCURRING, ABSENT):
        for options in OPTIONS:
            fields = {**options, "user": MEMBER, "secret": secret}
            everything = explain(world, "admin", query, **fields)
            alone = explain(world, "admin", query, dataSources=["library"], **fields)
            if options is OPTIONS[0]:  # which sources are searched is decided before the options matter
                assert explain(world, "admin", query, dataSources=["secrets", "library"], **fields) == everything
            assert everything["dataSources"] == [str(open_source.pk)]
            assert {**everything, "notSearched": []} == alone
            assert [entry["dataSourceId"] for entry in everything["notSearched"]] == [str(hidden.pk)]


def test_only_access_is_explained(world: World, hidden: DataSource) -> None:
    (entry,) = explain(world, "admin", OCCURRING, user=MEMBER)["notSearched"]
    assert (entry["dataSourceId"], entry["callerMayQuery"]) == (str(hidden.pk), False)
    assert {verdict["action"]: verdict["allowed"] for verdict in entry["access"]} == {
        "query": True, "ingest": True, "manage": True,
    }  # fmt: skip
    assert f"{MEMBER} is one of them" in entry["access"][0]["reason"]
    hidden.grants.create(user=world.users["admin"])
    (entry,) = explain(world, "admin", OCCURRING, user="member@home.example")["notSearched"]
    assert (entry["callerMayQuery"], entry["access"][0]["allowed"]) == (True, False)
    assert explain(world, "admin", OCCURRING, user="foreigner@abroad.example")["notSearched"] == []


@pytest.mark.parametrize("scopes", [(Scope.MANAGE,), (Scope.MANAGE, Scope.INGEST)])
def test_keys_without_the_scope_query_see_access_only(world: World, scopes: tuple[Scope, ...]) -> None:
    ingest_text(world.source("library"), "merger.md", SECRET)
    occurring, absent = (explain(world, "admin", query, *scopes) for query in (OCCURRING, ABSENT))
    assert occurring == absent
    assert (occurring["documents"], occurring["notSearched"][0]["callerMayQuery"]) == ([], False)


def test_superusers_query_only_what_is_open_to_them(world: World, hidden: DataSource) -> None:
    world.users["admin"].is_superuser = True
    world.users["admin"].save()
    occurring, absent = (explain(world, "admin", query, user=MEMBER) for query in (OCCURRING, ABSENT))
    assert occurring == absent
    assert occurring["notSearched"][0]["callerMayQuery"] is False


def test_the_admin_page_shows_access_only(world: World, hidden: DataSource) -> None:
    pages = []
    for query in (OCCURRING, ABSENT):
        content = _explain_in_admin(world, "admin", hidden, question=query, path="merger.md")
        pages.append(_without_changing_parts(content).replace(query.replace("'", "&#x27;"), ""))
    assert pages[0] == pages[1]
    assert "You may not query this data source" in pages[0]
    assert f"{MEMBER} is one of them" in pages[0]


def test_every_use_is_recorded(world: World, hidden: DataSource) -> None:
    """With the source, the caller and the explained user; never with the question or a path."""
    explain(world, "admin", OCCURRING, user=MEMBER, dataSources=["secrets"], document=str(uuid.uuid4()), status=404)
    _explain_in_admin(world, "owner", hidden, question=OCCURRING, path="merger.md")
    world.users["foreigner"].is_superuser = True
    world.users["foreigner"].save()
    _explain_in_admin(world, "foreigner", hidden, question=OCCURRING)
    events = list(AuditEvent.objects.filter(action=AuditAction.EXPLAINED).order_by("id"))
    assert [(event.actor_email, event.subject_email) for event in events] == [
        (f"{name}.example", MEMBER) for name in ("admin@home", "owner@home", "foreigner@abroad")
    ]
    for event in events:
        assert (event.kind, event.object_id, event.object_label) == ("source", str(hidden.pk), "secrets")
        assert event.organization_id == world.home.pk
        assert not {"merger", "Zebracorp"} & set(str([event.before, event.after, event.object_label]).split())
    assert events[0].key_prefix


def test_one_event_per_organization_names_its_sources(world: World, hidden: DataSource) -> None:
    """An event of several sources lists their ids, so that one request adds few rows."""
    library = world.source("library")
    add_member(user=world.users["admin"], organization=world.abroad, roles=("admin",))
    abroad = world.source("abroad", organization=world.abroad)
    secret = world.key("admin", all_organizations=True).secret
    explain(world, "admin", OCCURRING, secret=secret)
    explain(world, "admin", OCCURRING, secret=secret, user="no@where.example", dataSources=["library"])
    events: dict[uuid.UUID | None, list[AuditEvent]] = {}
    for event in AuditEvent.objects.filter(action=AuditAction.EXPLAINED).order_by("id"):
        events.setdefault(event.organization_id, []).append(event)
    at_home, of_nobody = events[world.home.pk]
    assert (at_home.object_id, sorted(at_home.after["sources"])) == ("", sorted([str(hidden.pk), str(library.pk)]))
    assert (at_home.subject_id, at_home.after["searched"]) == (world.users["admin"].pk, 1)
    assert [event.object_id for event in events[world.abroad.pk]] == [str(abroad.pk)]
    assert (of_nobody.subject_id, of_nobody.subject_email) == (None, "")


def test_callers_who_manage_nothing_add_no_events(world: World, hidden: DataSource) -> None:
    explain(world, "member", OCCURRING, status=403)
    assert not AuditEvent.objects.filter(action=AuditAction.EXPLAINED).exists()


def _explain_in_admin(world: World, name: str, source: DataSource, **fields: str) -> str:
    """Send the form of the admin page "Explain a search" as this user, for the member, and return the page's HTML."""
    user = world.users[name]
    user.is_staff = True
    user.save()
    browser = Client()
    browser.force_login(user)
    form = {"user": MEMBER, "top_k": 5, "min_score": 0, **fields}
    return browser.post(reverse("admin:rag_datasource_search_trace", args=[source.pk]), form).text


def _without_changing_parts(content: str) -> str:
    content = re.sub(r' data-signed-in="[^"]*"', "", content)
    return "\n".join(line for line in content.splitlines() if "csrfmiddlewaretoken" not in line)
