"""Lists read with cursors: stable while entries come and go, bounded, and with the access of each request."""

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest

from orgs.access.permissions import Visibility
from rag.contracts.common import cursors
from rag.models import DataSource, Document, IngestionJob, WebhookDelivery
from tests.support.factories import World
from tests.support.http import Client, Reply

Api = Callable[..., Client]
PATH = "/api/rag/sources/library/documents"


def add(source: DataSource, *paths: str) -> None:
    fields = {"chunk_size": 64, "chunk_overlap": 0, "chunk_count": 1, "source_type": "doc", "revision": source.pk}
    Document.objects.bulk_create(Document(source=source, path=path, title=path, **fields) for path in paths)


@pytest.fixture
def library(live_world: World) -> DataSource:
    source = live_world.source("library", visibility=Visibility.PUBLIC)
    add(source, "a", "b", "c", "dä", "e")
    return source


def link(reply: Reply) -> str:
    match = re.fullmatch(r'<(/[^>]+)>; rel="next"', reply.headers.get("link", ""))
    return match[1] if match else ""


def paths(reply: Reply) -> list[str]:
    assert reply.status == 200
    return [document["path"] for document in reply.body["documents"]]


def test_entries_that_come_and_go_shift_no_page(api: Api, library: DataSource) -> None:
    member = api("member")
    first = member.get(f"{PATH}?pageSize=2")
    assert paths(first) == ["a", "b"]
    Document.objects.filter(path__in="ab").delete()  # the entry that the cursor names, too
    add(library, "aa", "cc")
    second = member.get(link(first))
    assert (paths(second), second.body["page"], second.body["pageSize"]) == (["c", "cc"], 2, 2)
    third = member.get(link(second))
    assert (paths(third), third.body["page"], link(third)) == (["dä", "e"], 3, "")
    assert link(member.get(f"{PATH}?pageSize=2&page=3")) == ""
    assert paths(member.get(link(member.get(f"{PATH}?pageSize=2&page=2")))) == ["e"]


def test_a_cursor_belongs_to_its_list_and_grants_nothing(api: Api, library: DataSource, live_world: World) -> None:
    add(live_world.source("other"), "a", "b")
    member = api("member")
    address = link(member.get(f"{PATH}?pageSize=2"))
    cursor = parse_qs(urlsplit(address).query)["cursor"][0]
    for refused in (
        f"{PATH}?cursor={cursor[:-1]}",
        f"{PATH}?cursor={'A' + cursor[1:]}",
        f"{PATH}?cursor=",
        f"{PATH}?cursor={'x' * 3000}",
        f"{PATH}?cursor={cursor}&page=1",
        f"{PATH}?cursor={cursor}&pageSize=201",
        f"{PATH.replace('library', 'other')}?cursor={cursor}",
    ):
        reply = member.get(refused)
        assert (reply.status, reply.body["error"]) == (400, "INVALID_REQUEST"), refused
    DataSource.objects.filter(pk=library.pk).update(visibility=Visibility.PRIVATE)
    assert member.get(address).status == 404


def test_the_list_of_sources_is_read_to_its_end(api: Api, live_world: World) -> None:
    """The list is sorted by the slug of the organisation, and then by that of the source."""
    slugs = ["three", "one", "two"]
    for slug in slugs:
        live_world.source(slug, visibility=Visibility.PUBLIC)
    member = api("member")
    reply, listed = member.get("/api/rag/sources?pageSize=1"), list[str]()
    for _ in slugs:
        listed += [source["slug"] for source in reply.body["sources"]]
        reply = member.get(link(reply)) if link(reply) else reply
    assert (listed, link(reply)) == (sorted(slugs), "")


def test_the_key_distinguishes_equal_values(library: DataSource) -> None:
    for rows in (Document.objects.order_by("title"), IngestionJob.objects.all(), WebhookDelivery.objects.all()):
        assert cursors.list_sort_fields(rows)[-1][0] == "id"
    Document.objects.update(title="same")
    listed, position = list[str](), cursors.Position(1, ())
    rows = Document.objects.order_by("-title", "pk")
    while batch := list(cursors.rows_after(rows, position)[:2]):
        listed += [document.path for document in batch]
        position = cursors.Position(position.page + 1, (batch[-1].title, str(batch[-1].pk)))
    assert (len(listed), set(listed)) == (5, {"a", "b", "c", "dä", "e"})
