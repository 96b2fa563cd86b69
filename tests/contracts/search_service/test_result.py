"""The search service contract, section 2: GET /api/v1/search/{query_id}, over HTTP."""

import datetime
import json
import uuid
from collections.abc import Callable

import pytest
from django.utils import timezone

from accounts.models import User
from orgs.access.permissions import Visibility
from orgs.creation import add_member
from orgs.models import Membership
from rag.models import DataSource, Document, Grant, SearchRecord
from tests.support.checks import snapshots
from tests.support.factories import World, ingest_text
from tests.support.http import Client

Api = Callable[..., Client]
PATH = "/api/v1/search"
NOT_FOUND = {"error": "query_not_found", "message": "No search results found with the provided query ID"}


def titles(client: Client, query_id: str) -> list[str]:
    reply = client.get(f"{PATH}/{query_id}")
    assert reply.status == 200, reply
    assert reply.body["total_results"] == len(reply.body["results"])
    return [result["metadata"]["title"] for result in reply.body["results"]]


def test_the_same_results_with_the_question_and_its_time(api: Api, live_world: World) -> None:
    """2, Response (Success): the results in the shape and order of the search."""
    source = live_world.source()
    for name in ("zebra", "lion", "oak"):
        ingest_text(source, name, f"About the {name}.", uri=f"https://example.com/{name}", tags=("a",))
    member = api("member")
    before = timezone.now()
    search = member.post(PATH, {"query": "Where is the zebra?", "top_k": 2}).body
    for path in (f"{PATH}/{search['query_id']}", f"{PATH}/{search['query_id']}/"):
        reply = member.get(path)
        assert reply.status == 200
        snapshots.assert_matches("search-service-details", {**reply.body, "results": reply.body["results"][:1]})
        created = reply.body.pop("created_at")
        assert reply.body == {
            "query_id": search["query_id"],
            "query_text": "Where is the zebra?",
            "results": search["results"],
            "total_results": 2,
            "search_time_ms": search["search_time_ms"],
        }
        assert before <= datetime.datetime.fromisoformat(created) <= timezone.now()


def test_a_search_without_results_is_stored_too(api: Api) -> None:
    foreigner = api("foreigner")
    query_id = foreigner.post(PATH, {"query": "nodes"}).body["query_id"]
    reply = foreigner.get(f"{PATH}/{query_id}")
    assert (reply.status, reply.body["results"], reply.body["total_results"]) == (200, [], 0)


def test_only_the_user_who_searched_reads_the_results(api: Api, live_world: World) -> None:
    """2, Response (Error): a search of another user, an unknown id and an invalid id give the same response."""
    ingest_text(live_world.source(), "a", "Nodes compute.")
    query_id = api("member").post(PATH, {"query": "nodes"}).body["query_id"]
    User.objects.filter(pk=live_world.users["owner"].pk).update(is_superuser=True, is_staff=True)
    for name in ("owner", "editor", "foreigner"):
        reply = api(name).get(f"{PATH}/{query_id}")
        details = {"details": {"request_id": reply.headers["x-request-id"]}}
        assert (reply.status, reply.body) == (404, NOT_FOUND | details)
    member = api("member")
    for invalid in (str(uuid.uuid4()), "nonsense", "1", "%00", "%FF", query_id + "0"):
        reply = member.get(f"{PATH}/{invalid}")
        details = {"details": {"request_id": reply.headers["x-request-id"]}}
        assert (reply.status, reply.body) == (404, NOT_FOUND | details), invalid


def make_personal(world: World, source: DataSource) -> None:
    DataSource.objects.filter(pk=source.pk).update(visibility=Visibility.PERSONAL)


def revoke_grant(world: World, source: DataSource) -> None:
    Grant.objects.filter(source=source).delete()


def delete_source(world: World, source: DataSource) -> None:
    DataSource.objects.filter(pk=source.pk).update(deleted_at=timezone.now())


def purge_source(world: World, source: DataSource) -> None:
    source.delete()


def leave_organisation(world: World, source: DataSource) -> None:
    Membership.objects.filter(user=world.users["editor"], organization=world.home).update(is_active=False)


def close_organisation(world: World, source: DataSource) -> None:
    world.home.is_active = False
    world.home.save()


def change_text(world: World, source: DataSource) -> None:
    ingest_text(source, "secret", "Nodes are forgotten.", title="Secret")


def delete_document(world: World, source: DataSource) -> None:
    Document.objects.filter(source=source).update(deleted_at=timezone.now())


@pytest.mark.parametrize(
    "change",
    [
        make_personal,
        revoke_grant,
        delete_source,
        purge_source,
        leave_organisation,
        close_organisation,
        change_text,
        delete_document,
    ],
    ids=lambda function: function.__name__,
)
def test_results_that_may_no_longer_be_read_are_left_out(
    api: Api, live_world: World, change: Callable[[World, DataSource], None]
) -> None:
    """docs/contracts/search-service.md: access is checked when the results are read. The editor may send documents to
    the source throughout."""
    source = live_world.source("granted", visibility=Visibility.PRIVATE)
    Grant.objects.create(source=source, user=live_world.users["editor"])
    ingest_text(source, "secret", "Nodes compute.", title="Secret")
    add_member(user=live_world.users["editor"], organization=live_world.abroad)
    ingest_text(live_world.source("other", organization=live_world.abroad), "kept", "Nodes compute too.", title="Kept")
    editor = api("editor")
    query_id = editor.post(PATH, {"query": "nodes"}).body["query_id"]
    assert set(titles(editor, query_id)) == {"Secret", "Kept"}
    change(live_world, source)
    assert titles(editor, query_id) == ["Kept"]


def test_results_of_a_reopened_source_are_shown_with_the_current_title(api: Api, live_world: World) -> None:
    source = live_world.source()
    ingest_text(source, "a", "Nodes compute.", title="Old")
    member = api("member")
    query_id = member.post(PATH, {"query": "nodes"}).body["query_id"]
    make_personal(live_world, source)
    assert titles(member, query_id) == []
    DataSource.objects.update(visibility=Visibility.PUBLIC)
    assert ingest_text(source, "a", "Nodes compute.", title="New").status == "unchanged"
    assert titles(member, query_id) == ["New"]


def test_x_organization_narrows_the_results(api: Api, live_world: World) -> None:
    add_member(user=live_world.users["member"], organization=live_world.abroad)
    ingest_text(live_world.source(), "a", "Nodes compute.", title="Home")
    ingest_text(live_world.source(organization=live_world.abroad), "b", "Nodes compute.", title="Abroad")
    member = api("member")
    query_id = member.post(PATH, {"query": "nodes"}).body["query_id"]
    assert set(titles(member, query_id)) == {"Home", "Abroad"}
    assert titles(member.with_headers(X_Organization="abroad"), query_id) == ["Abroad"]
    searched = member.with_headers(X_Organization="home").post(PATH, {"query": "nodes"}).body
    assert titles(member, searched["query_id"]) == ["Home"]
    assert member.with_headers(X_Organization="nowhere").get(f"{PATH}/{query_id}").status == 400


def test_only_ids_and_scores_of_results_are_stored(api: Api, live_world: World) -> None:
    ingest_text(live_world.source(), "a", "The launch code is 1234.", title="Codes", metadata={"key": "1234"})
    api("member").post(PATH, {"query": "launch code"})
    record = SearchRecord.objects.get()
    assert record.text == "launch code"
    assert [set(result) for result in record.results] == [{"chunk", "score"}]
    assert "1234" not in json.dumps(record.results)


def test_a_rejected_search_is_not_stored(api: Api) -> None:
    api("member").post(PATH, {"query": "nodes", "top_k": 99})
    assert not SearchRecord.objects.exists()
