"""ETag, If-Match and If-None-Match (RFC 9110)."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from rag.models import DataSource, Document
from tests.support.factories import World, ingest_text
from tests.support.http import Client

Api = Callable[..., Client]


@pytest.fixture
def owner(api: Api) -> Client:
    return api("owner")


def change(client: Client, path: str, etag: str, description: str) -> Any:
    body = json.dumps({"description": description}).encode()
    return client.with_headers(If_Match=etag).send("PATCH", path, body)


def test_a_source_is_changed_only_in_the_version_that_was_read(owner: Client) -> None:
    created = owner.post("/api/rag/sources", {"name": "Office"})
    path = f"/api/rag/sources/{created.body['id']}"
    first = owner.get(path).headers["etag"]
    assert first == created.headers["etag"]
    changed = change(owner, path, first, "mine")
    assert (changed.status, changed.headers["etag"] != first) == (200, True)
    refused = change(owner, path, first, "lost")
    assert (refused.status, refused.body["error"]) == (412, "VERSION_CHANGED")
    assert owner.with_headers(If_Match=first).send("DELETE", path).status == 412
    assert DataSource.objects.get().description == "mine"
    current = changed.headers["etag"]
    assert change(owner, path, f"W/{current}", "compressed by a proxy").status == 200
    assert change(owner, path, f'"x", {owner.get(path).headers["etag"]}', "one of several").status == 200
    assert change(owner, path, f'"a,b",",", {owner.get(path).headers["etag"]}', "commas in others").status == 200
    assert change(owner, path, '",,"', "of another server").status == 412
    assert change(owner, path, "*", "any").status == 200
    assert change(owner, path, '"x" "y"', "no comma").body["details"]["field"] == "If-Match"
    assert change(owner, path, "5f3a", "no quotes").body["details"]["field"] == "If-Match"
    etag = owner.get(path).headers["etag"]
    assert owner.with_headers(If_Match=etag).send("DELETE", path).status == 204


def test_a_document_is_deleted_only_in_the_version_that_was_read(owner: Client, live_world: World) -> None:
    source = live_world.source()
    ingest_text(source, "a", "Zebras have stripes.")
    path = f"/api/rag/sources/{source.pk}/documents"
    document = f"{path}/{Document.objects.get().pk}"
    etag = owner.get(document).headers["etag"]
    assert owner.get(document).headers["etag"] == etag
    ingest_text(source, "a", "Zebras have many stripes.")
    for url in (document, f"{path}?path=a"):
        refused = owner.with_headers(If_Match=etag).send("DELETE", url)
        assert (refused.status, refused.body["error"]) == (412, "VERSION_CHANGED")
    current = owner.get(document).headers["etag"]
    assert owner.with_headers(If_Match=current).send("DELETE", f"{path}?path=a").status == 204


def test_what_the_client_has_is_not_sent_again(owner: Client, api: Api, live_world: World) -> None:
    source = live_world.source()
    ingest_text(source, "a", "Zebras have stripes.")
    one = f"/api/rag/sources/{source.pk}"
    document = f"{one}/documents/{Document.objects.get().pk}"
    paths = [one, "/api/rag/sources", document, f"{one}/documents", "/api/rag/ingest", "/api/schema"]
    paths += ["/api/auth/keys", "/api/auth/member-keys", "/v1/models", "/v1/models/ragsite"]
    etags = {path: owner.get(path).headers["etag"] for path in paths}
    for path, etag in etags.items():
        for known in (etag, f"W/{etag}", f'"x", {etag}', "*"):
            unchanged = owner.with_headers(If_None_Match=known).get(path)
            assert (unchanged.status, unchanged.body) == (304, None), path
            assert unchanged.headers["etag"].removeprefix("W/") == etag.removeprefix("W/")
        assert owner.with_headers(If_None_Match='"x", broken').get(path).status == 200
    # A manager's response has more fields than that of somebody who only queries.
    assert api("member").with_headers(If_None_Match=etags[one]).get(one).status == 200
    assert "private" in owner.get(one).headers["cache-control"]
    DataSource.objects.update(description="Changed")
    assert owner.with_headers(If_None_Match=etags[one]).get(one).body["description"] == "Changed"
    assert owner.with_headers(If_None_Match=etags["/api/rag/sources"]).get("/api/rag/sources").status == 200
    secret = owner.post("/api/rag/webhooks", {"url": "https://93.184.215.14/", "events": ["job.failed"]})
    assert (secret.headers["cache-control"], secret.headers.get("etag")) == ("no-store", None)


def test_a_slug_that_is_taken_is_a_conflict(owner: Client, live_world: World) -> None:
    live_world.source("library")
    live_world.source("office")
    created = owner.post("/api/rag/sources", {"name": "Library"})
    changed = owner.send("PATCH", "/api/rag/sources/office", b'{"slug": "library"}')
    for reply in (created, changed):
        assert (reply.status, reply.body["error"], reply.body["details"]["field"]) == (409, "SLUG_TAKEN", "slug")
    assert DataSource.objects.filter(slug="office").exists()
