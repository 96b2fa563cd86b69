"""A website, by its sitemaps (https://www.sitemaps.org/protocol.html): pages of one host that robots.txt allows.

Redirects are followed within the host, and each address is checked like the first one.
"""

import contextlib
import time
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any
from urllib.parse import urldefrag, urljoin, urlsplit
from urllib.robotparser import RobotFileParser

import httpx2

import ragsite

from . import sitemap_xml
from .base import ItemFailed, ItemGone, ListedItem, ListingFailed, OpenedItem, Page
from .folder_walk import is_storable
from .http_client import READ_BYTES, ConnectorClient, describe

USER_AGENT = "ragsite"
_MAX_REDIRECTS = 5
_MAX_ROBOTS_BYTES = 512 * 1024  # RFC 9309 asks for 500 KiB at least
# A rule may have each of its bytes percent-encoded.
_MAX_RULE_CHARACTERS = 4 * sitemap_xml.MAX_ADDRESS_CHARACTERS
# Each address of a sitemap is compared with each of them.
_MAX_ROBOTS_LINES = 2_000
_MAX_CRAWL_DELAY_SECONDS = 5.0
# The addresses of the remaining sitemaps are stored again after each of them.
_MAX_PENDING_CHARACTERS = 1_000_000
_VALIDATORS = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}


class WebsiteConnector:
    """Reads the pages that a website's sitemaps name. A path is the address of the page."""

    def __init__(self, location: str, *, organization_slug: str) -> None:
        """Read a website for the organisation with this slug."""
        self._location, self._organization_slug = location, organization_slug
        self._site = urlsplit(location)

    def list_pages(self, cursor: Any) -> Iterator[Page]:
        """List the pages of one sitemap after the other. The cursor contains the remaining sitemaps.

        Raises:
            ListingFailed: If a sitemap cannot be read, or there are too many.
        """
        pending = list(cursor["sitemaps"]) if cursor else self._find_sitemaps()
        while pending:
            url, is_from_index = pending.pop(0)
            sitemap = sitemap_xml.parse(self._download(url))
            if sitemap.sitemaps and is_from_index:
                raise ListingFailed(f"{_name(url)} is named by an index of sitemaps, and is one itself.")
            pending += [(child, True) for child in sitemap.sitemaps if self._is_own(child)]
            if len(pending) > sitemap_xml.MAX_SITEMAPS:
                raise ListingFailed(f"There are more than {sitemap_xml.MAX_SITEMAPS:,} sitemaps.")
            if sum(len(address) for address, _ in pending) > _MAX_PENDING_CHARACTERS:
                raise ListingFailed(f"The sitemaps' addresses have more than {_MAX_PENDING_CHARACTERS:,} characters.")
            items = [
                ListedItem(urldefrag(page.url).url, page.modified)
                for page in sitemap.pages
                if self._is_own(page.url) and is_storable(page.url) and self._is_permitted(page.url)
            ]
            skipped = len(sitemap.pages) - len(items)
            yield Page(items, {"sitemaps": pending}, is_last=not pending, skipped=skipped)

    @contextlib.contextmanager
    def open(self, path: str, *, validators: Mapping[str, str]) -> Iterator[OpenedItem | None]:
        """Request a page; None if it has not changed since the validators were sent.

        Raises:
            ItemGone: If it does not exist any more.
            ItemFailed: If the website does not send it.
        """
        # Clients cannot send others, which the website may have sent.
        sendable = {name: value for name, value in validators.items() if name in _VALIDATORS and value.isascii()}
        headers = {_VALIDATORS[name]: value for name, value in sendable.items()}
        try:
            with self._get(path, headers) as response:
                if response.status_code == 304:
                    yield None
                    return
                _check_status(response.status_code)
                yield OpenedItem(
                    _read(response),
                    _file_name(path, response),
                    uri=path,
                    content_type=_content_type(response),
                    validators={name: value[:300] for name in _VALIDATORS if (value := response.headers.get(name))},
                )
        except ListingFailed as error:  # robots.txt cannot be read
            raise ItemFailed(str(error), code="UNREACHABLE", is_location_down=True) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ItemFailed(describe(error), code="UNREACHABLE", is_location_down=True) from error

    def _find_sitemaps(self) -> list[tuple[str, bool]]:
        """Return the location, if it is a sitemap; else those of robots.txt, or the usual address."""
        if self._site.path not in ("", "/"):
            return [(self._location, False)]
        named = [url for url in self._robots.site_maps() or () if self._is_own(url)]
        return [(url, False) for url in named or [urljoin(self._location, "/sitemap.xml")]]

    def _download(self, url: str) -> bytes:
        try:
            with self._get(url, {}, obey_robots=False) as response:
                if response.status_code != 200:
                    raise ListingFailed(f"{_name(url)} answered {response.status_code}.")
                return sitemap_xml.read(_read(response))
        except ItemFailed as error:
            raise ListingFailed(f"{_name(url)}: {error}") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ListingFailed(f"{_name(url)}: {describe(error)}") from error

    @contextlib.contextmanager
    def _get(self, url: str, headers: Mapping[str, str], *, obey_robots: bool = True) -> Iterator[httpx2.Response]:
        """Request an address and follow redirects within the host.

        Args:
            url: The address.
            headers: Further headers.
            obey_robots: Wait as robots.txt says, and follow redirects only to addresses that it allows.
        """
        common = {"User-Agent": f"{USER_AGENT}/{ragsite.__version__}", "Accept-Encoding": "identity"}
        with ConnectorClient(organization_slug=self._organization_slug) as client:
            for _ in range(_MAX_REDIRECTS + 1):
                if obey_robots:
                    self._wait()
                with client.stream("GET", url, headers={**common, **headers}) as response:
                    if not response.has_redirect_location:
                        yield response
                        return
                    url = _resolve(url, response.headers.get("Location", ""))
                if not self._is_own(url):
                    raise ItemFailed("The page redirects to another host.", code="REDIRECTED")
                if obey_robots and not self._is_permitted(url):
                    raise ItemFailed("The page redirects to one that robots.txt forbids.", code="REDIRECTED")
        raise ItemFailed("The page redirects too often.", code="REDIRECTED")

    @cached_property
    def _robots(self) -> RobotFileParser:
        """Read robots.txt (RFC 9309): without one everything is allowed; if it is unreachable, nothing is."""
        robots = RobotFileParser()
        url = urljoin(self._location, "/robots.txt")
        try:
            with self._get(url, {}, obey_robots=False) as response:
                if response.status_code == 200:
                    content = b""
                    for part in _read(response):
                        content += part
                        if len(content) > _MAX_ROBOTS_BYTES:
                            break
                    # A byte order mark is no part of the first line (RFC 9309, 2.2).
                    text = content[:_MAX_ROBOTS_BYTES].decode("utf-8-sig", errors="replace")
                    lines = [line for line in text.splitlines() if len(line) <= _MAX_RULE_CHARACTERS]
                    if len(lines) > _MAX_ROBOTS_LINES:
                        raise ListingFailed(f"{url} has more than {_MAX_ROBOTS_LINES:,} lines.")
                    try:
                        robots.parse(lines)
                    except ValueError as error:  # an address or a number that is none
                        raise ListingFailed(f"{url} has a line that cannot be read.") from error
                elif 400 <= response.status_code < 500 and response.status_code != 429:
                    robots.parse([])
                else:
                    raise ListingFailed(f"{_name(url)} answered {response.status_code}.")
        except ItemFailed as error:
            raise ListingFailed(f"{_name(url)}: {error}") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ListingFailed(f"{_name(url)}: {describe(error)}") from error
        return robots

    def _is_permitted(self, url: str) -> bool:
        return self._robots.can_fetch(USER_AGENT, url)

    def _wait(self) -> None:
        """Wait as long as robots.txt asks for between requests, five seconds at most."""
        if delay := self._robots.crawl_delay(USER_AGENT):
            time.sleep(min(int(delay), _MAX_CRAWL_DELAY_SECONDS))

    def _is_own(self, url: str) -> bool:
        """Return whether an address belongs to the site: the same host and port, or its standard port with HTTPS."""
        # robots.txt can name an address with NUL, which no cursor can store.
        if len(url) > sitemap_xml.MAX_ADDRESS_CHARACTERS or not url.isprintable():
            return False
        try:
            parts = urlsplit(url)
            is_same_port = (parts.scheme, parts.port) in {(self._site.scheme, self._site.port), ("https", None)}
        except ValueError:
            return False
        return is_same_port and parts.hostname == self._site.hostname and parts.username is None


def _name(url: str) -> str:
    """Return an address for a message, which webhooks carry further: without its query, which may have a secret."""
    return url.partition("?")[0]


def _resolve(url: str, location: str) -> str:
    """Return the address to which a page redirects."""
    try:
        if len(location) > sitemap_xml.MAX_ADDRESS_CHARACTERS:
            raise ValueError
        return urljoin(url, location)
    except ValueError as error:
        raise ItemFailed("The page redirects to a malformed address.", code="REDIRECTED") from error


def _check_status(status: int) -> None:
    if status in (404, 410):
        raise ItemGone
    if status != 200:
        raise ItemFailed(f"The page answered {status}.", code="UNREADABLE", is_location_down=status >= 500)


def _read(response: httpx2.Response) -> Iterator[bytes]:
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise ItemFailed("The server compresses although it was asked not to.")
    try:
        yield from response.iter_raw(READ_BYTES)
    except httpx2.HTTPError as error:
        raise ItemFailed(describe(error), code="UNREACHABLE", is_location_down=True) from error


def _content_type(response: httpx2.Response) -> str:
    return str(response.headers.get("Content-Type", "").partition(";")[0].strip().lower())[:200]


def _file_name(url: str, response: httpx2.Response) -> str:
    name = urlsplit(url).path.rsplit("/", 1)[-1] or "index"
    return name if "." in name or "html" not in _content_type(response) else f"{name}.html"
