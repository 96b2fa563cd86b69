"""Requests that only read: those of one account leave threads of a web process to others."""

from typing import Any

from rag.providers.limits import read_limiter
from ragsite.run.web import THREADS
from tests.support.browsers import browser, staff_browser
from tests.support.factories import World


def test_an_account_has_a_limit_of_reads_in_progress(live_world: World, api: Any) -> None:
    """Ninety lists of a large data source at once made others wait for 22 seconds."""
    assert read_limiter.MAX_READS < THREADS
    owner = live_world.users["owner"]
    clients = browser(owner), staff_browser(owner)
    paths = ("/history", "/admin/rag/datasource/")
    assert api("owner").get("/api/rag/sources").status == 200
    assert [client.get(path).status_code for client, path in zip(clients, paths, strict=True)] == [200, 200]
    assert not read_limiter._in_progress, "each request ends its count"
    read_limiter._in_progress[owner.pk] = read_limiter.MAX_READS
    try:
        refused = api("owner").get("/api/rag/sources")
        assert (refused.status, refused.headers["retry-after"]) == (429, "2")
        for client, path in zip(clients, paths, strict=True):
            for page in (client.get(path), client.head(path)):
                assert (page.status_code, page.headers["Retry-After"]) == (429, "2")
            assert "Too many of your requests are in progress." in client.get(path).content.decode()
        assert api("owner").post("/api/rag/search", {"query": "zebra", "topK": 1}).status == 200, "it has a rate limit"
        assert api("member").get("/api/rag/sources").status == 200, "others are served"
        assert read_limiter._in_progress == {owner.pk: read_limiter.MAX_READS}
    finally:
        read_limiter._in_progress.clear()
