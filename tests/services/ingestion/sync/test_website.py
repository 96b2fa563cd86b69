"""Syncing from a website, against a server on loopback."""

import gzip
from collections.abc import Iterator
from typing import Any

import pytest

from rag.errors import InvalidRequest
from rag.models import SyncConnection, SyncKind, SyncRun
from rag.providers.connectors import sitemap_xml
from rag.providers.connectors.base import ListingFailed
from rag.services.ingestion.sync import connections
from ragsite.http import outbound_connections
from tests.services.ingestion.sync.conftest import contents, run_to_end
from tests.support.checks.normalization import record_normalized_lengths
from tests.support.factories import World
from tests.support.servers.website import Response, Website

pytestmark = pytest.mark.django_db
State = SyncRun.State


@pytest.fixture
def website() -> Iterator[Website]:
    with Website().running() as website:
        yield website


@pytest.fixture
def connection(world: World, website: Website, settings: Any) -> SyncConnection:
    settings.RAG_SYNC_PRIVATE_HOSTS = {world.home.slug: ["127.0.0.1"]}
    connection = SyncConnection(source=world.source("synced"), kind=SyncKind.WEBSITE, location=f"{website.address}/")
    connections.check(connection)
    connections.save(connection, secret="", by=world.users["owner"])
    return connection


def pages(connection: SyncConnection, website: Website) -> set[str]:
    return {path.removeprefix(website.address) for path in contents(connection.source)}


def test_a_website_is_synced(connection: SyncConnection, website: Website) -> None:
    for name in ("/a", "/b", "/c/", "/private/d"):
        website.set_page(name, f"The page {name} explains how the lamp in room {name} is lit.", ETag=f'"{name}"')
    website.pages["/robots.txt"] = Response(
        f"User-agent: *\nDisallow: /private/\nSitemap: {website.address}/index.xml".encode()
    )
    website.pages["/index.xml"] = Response(website.index_of("/one.xml", "/two.xml.gz"))
    website.pages["/one.xml"] = Response(website.sitemap(a="2026-01-01", b=""))
    foreign = [("https://example.org/x", ""), (f"{website.address}/private/d", ""), ("file:///etc/passwd", "")]
    website.pages["/two.xml.gz"] = Response(
        gzip.compress(website.sitemap_of([*foreign, (f"{website.address}/c/", "")]))
    )
    run = run_to_end(connection)
    assert (run.state, run.listed, run.skipped, run.added, run.failed) == (State.FINISHED, 3, 3, 3, 0)
    assert pages(connection, website) == {"/a", "/b", "/c/"}
    assert connection.source.documents.get(path__endswith="/a").uri == f"{website.address}/a"
    assert "/private/d" not in website.requested()

    website.set_page("/a", "It has changed, but its time of modification has not.", ETag='"other"')
    website.set_page("/b", "The page /b has another text about the window.", ETag='"new"')
    run = run_to_end(connection)
    assert (run.changed, run.removed, run.failed) == (1, 0, 0)
    assert "/a" not in website.requested(), "the sitemap says that it is unchanged"
    website.pages["/one.xml"] = Response(website.sitemap(a="2026-01-02", b=""))
    assert run_to_end(connection).changed == 1
    assert run_to_end(connection).changed == 0
    unchanged = [headers.get("If-None-Match") for path, headers in website.requests if path in ("/b", "/c/")]
    assert all(unchanged), "only changes are transferred"
    website.pages["/index.xml"] = Response(website.index_of("/one.xml"))
    assert run_to_end(connection).removed == 1


def test_a_page_that_is_gone_is_removed(connection: SyncConnection, website: Website) -> None:
    for name in ("/a", "/b"):
        website.set_page(name, f"The page {name} explains something.")
    website.pages["/sitemap.xml"] = Response(website.sitemap(a="", b=""))
    assert run_to_end(connection).added == 2
    del website.pages["/b"]
    assert run_to_end(connection).removed == 1
    assert pages(connection, website) == {"/a"}


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/robots.txt", Response(status=503)),
        ("/sitemap.xml", Response(status=503)),
        ("/two.xml", Response(status=404)),
        ("/two.xml", Response(b"<html>an error page</html>")),
        ("/two.xml", Response(b"<urlset>")),
    ],
)
def test_an_incomplete_listing_removes_nothing(
    connection: SyncConnection, website: Website, path: str, answer: Response
) -> None:
    for name in ("/a", "/b"):
        website.set_page(name, f"The page {name} explains something.")
    website.pages["/sitemap.xml"] = Response(website.index_of("/one.xml", "/two.xml"))
    website.pages["/one.xml"] = Response(website.sitemap(a=""))
    website.pages["/two.xml"] = Response(website.sitemap(b=""))
    assert run_to_end(connection).added == 2
    website.pages[path] = answer
    run = run_to_end(connection)
    assert (run.state, run.removed) == (State.FAILED, 0)
    assert pages(connection, website) == {"/a", "/b"}


def test_redirects_stay_on_the_host(connection: SyncConnection, website: Website) -> None:
    website.set_page("/target", "The target of the redirect explains something.")
    website.set_page("/private/x", "Nobody may read this page.")
    for name, target in (
        ("own", "/target"),
        ("foreign", "http://example.org/"),
        ("inner", "http://127.0.0.2/secret"),
        ("file", "file:///etc/passwd"),
        ("forbidden", "/private/x"),
        ("loop", "/loop"),
        ("malformed", "http://a[b/"),
    ):
        website.pages[f"/{name}"] = Response(status=302, headers={"Location": target})
    website.pages["/robots.txt"] = Response(b"User-agent: ragsite\nDisallow: /private/")
    website.pages["/sitemap.xml"] = Response(
        website.sitemap(own="", foreign="", inner="", file="", forbidden="", loop="", malformed="")
    )
    run = run_to_end(connection)
    assert (run.added, run.failed) == (1, 6)
    assert {error["code"] for error in run.errors} == {"REDIRECTED"}
    assert pages(connection, website) == {"/own"}
    assert "/private/x" not in website.requested()


def test_a_page_may_ask_for_its_cookie_first(connection: SyncConnection, website: Website) -> None:
    website.set_page("/target", "The target of the redirect explains something.")
    website.pages["/a"] = Response(status=302, headers={"Location": "/target", "Set-Cookie": "seen=1"})
    website.pages["/sitemap.xml"] = Response(website.sitemap(a=""))
    assert run_to_end(connection).added == 1
    assert [headers.get("Cookie") for path, headers in website.requests if path == "/target"] == ["seen=1"]


def test_private_hosts_are_refused(connection: SyncConnection, website: Website, settings: Any) -> None:
    settings.RAG_SYNC_PRIVATE_HOSTS = {"another organisation": ["127.0.0.1"]}
    with pytest.raises(InvalidRequest, match="RAG_SYNC_PRIVATE_HOSTS"):
        connections.check(connection)
    run = run_to_end(connection)
    assert (run.state, website.requests) == (State.FAILED, [])
    assert str(outbound_connections.ForbiddenAddress("127.0.0.1", outbound_connections.SYNC_HOSTS)) in run.error


def test_a_website_that_is_down_ends_the_sync(connection: SyncConnection, website: Website) -> None:
    names = [f"page{number}" for number in range(9)]
    website.pages["/sitemap.xml"] = Response(website.sitemap(**dict.fromkeys(names, "")))
    for name in names:
        website.pages[f"/{name}"] = Response(status=500)
    run = run_to_end(connection)
    assert (run.state, run.failed, run.error) == (State.FAILED, 5, "The page answered 500.")


def test_sitemaps_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sitemap_xml, "MAX_BYTES", 10_000)
    for content in (b"a" * 10_001, gzip.compress(b"a" * 10_001), gzip.compress(b"abc" * 9)[:-9]):
        with pytest.raises(ListingFailed):
            sitemap_xml.read([content])
    monkeypatch.setattr(sitemap_xml, "MAX_ENTRIES", 1)
    with pytest.raises(ListingFailed):
        sitemap_xml.parse(b"<urlset><url><loc>a</loc></url><url><loc>b</loc></url></urlset>")
    entity = b'<!DOCTYPE u [<!ENTITY e SYSTEM "file:///etc/hostname">]><urlset><url><loc>&e;</loc></url></urlset>'
    assert sitemap_xml.parse(entity).pages == [], "entities are not resolved"


def test_long_addresses_of_sitemaps_are_refused(connection: SyncConnection, website: Website) -> None:
    """The remaining addresses are stored again after each sitemap, so that all of them together have a limit.

    200 addresses of 10,000 characters would write 220 MB into the database's log.
    """
    for length, number, error in (
        (1_900, 600, "addresses have more than 1,000,000 characters"),
        (2_000, 1, "A sitemap's address has more than 2,000 characters."),
    ):
        paths = (f"/{index:0>{length}}" for index in range(number))
        website.pages["/sitemap.xml"] = Response(website.index_of(*paths))
        run = run_to_end(connection)
        assert (run.state, run.cursor, error in run.error) == (State.FAILED, None, True)


def test_robots_txt_has_a_bounded_number_of_rules(connection: SyncConnection, website: Website) -> None:
    website.set_page("/a", "The page explains something.")
    rules = "".join(f"Disallow: /{number}\n" for number in range(2_000))
    website.pages["/robots.txt"] = Response(f"User-agent: *\n{rules}".encode())
    run = run_to_end(connection)
    assert (run.state, "2,000 lines" in run.error) == (State.FAILED, True)


@pytest.mark.parametrize("line", ["Disallow: //[", "Crawl-delay: ²"])
def test_a_line_of_robots_txt_that_cannot_be_read_is_named(
    connection: SyncConnection, website: Website, line: str
) -> None:
    website.pages["/robots.txt"] = Response(f"User-agent: *\n{line}".encode())
    run = run_to_end(connection)
    assert (run.state, run.error) == (State.FAILED, f"{website.address}/robots.txt has a line that cannot be read.")


def test_no_long_address_of_a_website_is_taken_apart(
    connection: SyncConnection, website: Website, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Combining characters in its host, 500,000 of them, took five minutes, in which no other thread ran."""
    host = "//a" + "\u0315\u0300" * 5_000
    website.set_page("/a", "The page explains something.")
    website.pages["/robots.txt"] = Response(f"User-agent: *\nDisallow: {host}\nSitemap: http:{host}".encode())
    website.pages["/sitemap.xml"] = Response(website.sitemap_of([(f"http:{host}", ""), (f"{website.address}/a", "")]))
    lengths = record_normalized_lengths(monkeypatch)
    assert run_to_end(connection).added == 1
    assert max(lengths) <= 5_000


def test_a_delay_of_robots_txt_is_bounded(connection: SyncConnection, website: Website, monkeypatch: Any) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("rag.providers.connectors.website.time.sleep", pauses.append)
    website.set_page("/a", "The page explains something.")
    website.pages["/sitemap.xml"] = Response(website.sitemap(a=""))
    website.pages["/robots.txt"] = Response(f"User-agent: *\nCrawl-delay: {'9' * 400}".encode())
    assert (run_to_end(connection).added, pauses) == (1, [5.0])


def test_a_byte_order_mark_hides_no_rule(connection: SyncConnection, website: Website) -> None:
    website.set_page("/private/x", "Nobody may read this page.")
    website.pages["/sitemap.xml"] = Response(website.sitemap(**{"private/x": ""}))
    website.pages["/robots.txt"] = Response("\ufeffUser-agent: *\nDisallow: /private/".encode())
    run = run_to_end(connection)
    assert (run.state, run.skipped, run.added) == (State.FINISHED, 1, 0)


def test_a_name_does_not_lead_into_an_allowed_network(settings: Any) -> None:
    """What a sync reads is shown, and the owner of a name can let it lead anywhere."""
    settings.RAG_SYNC_PRIVATE_HOSTS = {"*": ["127.0.0.0/8"]}
    settings.RAG_WEBHOOK_PRIVATE_HOSTS = ["127.0.0.0/8"]
    outbound_connections.check_allowed("http://127.0.0.1/", setting=outbound_connections.SYNC_HOSTS)
    outbound_connections.check_allowed("http://localhost/", setting=outbound_connections.WEBHOOK_HOSTS)
    with pytest.raises(outbound_connections.ForbiddenAddress):
        outbound_connections.check_allowed("http://localhost/", setting=outbound_connections.SYNC_HOSTS)
    settings.RAG_SYNC_PRIVATE_HOSTS = {"*": ["localhost"]}
    outbound_connections.check_allowed("http://localhost/", setting=outbound_connections.SYNC_HOSTS)


@pytest.mark.parametrize(
    "content",
    [
        b"<urlset><url>" + b"<a/>" * 2_000_001 + b"</url></urlset>",
        b"<urlset>" + b"<!---->" * 2_000_001 + b"</urlset>",
        b"<urlset><url " + b' a=""' * 2_000_001 + b"/></urlset>",
        '<?xml version="1.0" encoding="IBM037"?><urlset><url><loc>a</loc></url></urlset>'.encode("cp037"),
    ],
    ids=["elements", "comments", "attributes", "another encoding"],
)
def test_sitemaps_of_many_elements_are_refused(content: bytes) -> None:
    """45 MB of them, 50 KB if compressed, needed 1.5 GB of memory."""
    with pytest.raises(ListingFailed):
        sitemap_xml.parse(content)


def test_an_error_does_not_repeat_a_secret_of_the_address(connection: SyncConnection, website: Website) -> None:
    """Webhooks carry the error to people who may not see the connection, and to other servers."""
    SyncConnection.objects.update(location=f"{website.address}/list.xml?key=hidden")
    connection.refresh_from_db()
    run = run_to_end(connection)
    assert run.state == State.FAILED
    assert run.error == f"{website.address}/list.xml answered 404."


def test_an_address_that_cannot_be_stored_is_none_of_the_website(connection: SyncConnection, website: Website) -> None:
    website.set_page("/a", "The page /a explains something.")
    lines = (f"Sitemap: {website.address}/{name}" for name in ("sitemap.xml", "%00.xml"))
    website.pages["/robots.txt"] = Response("\n".join(lines).encode())
    website.pages["/sitemap.xml"] = Response(website.sitemap(a=""))
    run = run_to_end(connection)
    assert (run.state, run.added) == (State.FINISHED, 1)


def test_a_validator_that_cannot_be_sent_is_left_out(connection: SyncConnection, website: Website) -> None:
    website.set_page("/a", "The page /a explains something.", ETag='"caf\xe9"')
    website.pages["/sitemap.xml"] = Response(website.sitemap(a=""))
    assert run_to_end(connection).added == 1
    website.set_page("/a", "The page /a explains something else.", ETag='"caf\xe9"')
    run = run_to_end(connection)
    assert (run.state, run.changed, run.failed) == (State.FINISHED, 1, 0)
