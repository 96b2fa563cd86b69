"""Follows every link that an account sees, in process."""

import functools
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urljoin, urlsplit

from django.test import Client
from django.urls import Resolver404, resolve

# Of links that differ only in an id, and of links that filter a list, so many are followed.
_ALIKE = 1
_MAX_FILTERS = 1  # a list with two filters is as one with each of them
_NOT_FOLLOWED = {"o", "p", "_facets", "all"}  # the order and the pages of a list
# How the list was filtered from which a page was opened: it only decides where the page leads back to.
_ORIGIN = "_changelist_filters"
# Django's admin names fields, columns and models in classes, and does not style them.
_NAME_CLASS = re.compile(r"(?:field|column|model|app|action|dynamic|last)-|\d")
_MAX_PAGES = 150


@dataclass(frozen=True)
class PageFound:
    """A page, and what it is made of: templates, those of parts and form fields too, and elements with a class."""

    url: str
    parts: frozenset[str]


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.links: list[str] = []
        self.blank: list[str] = []
        self._open: str | None = None
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        names = (values.get("class") or "").split()
        self.elements |= {tag, *(f"{tag}.{name}" for name in names if not _NAME_CLASS.match(name))}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"] or "")
            self._open, self._text = values["href"], values.get("aria-label") or values.get("title") or ""
        elif self._open and tag == "img":
            self._text += values.get("alt") or ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self._open:
            if not self._text.strip():
                self.blank.append(self._open)
            self._open = None


@functools.cache
def kind_of(url: str) -> tuple[str, ...]:
    """What links that differ only in ids and values have in common: the view and the names of the parameters."""
    parts = urlsplit(url)
    try:
        name = resolve(parts.path).view_name
    except Resolver404:
        name = parts.path
    parameters = {key for key, _ in parse_qsl(parts.query, keep_blank_values=True)}
    return (name, *sorted(parameters - {_ORIGIN}))


def _is_dull(kind: tuple[str, ...]) -> bool:
    name, *parameters = kind
    is_list = name.endswith("_changelist")
    return is_list and (len(parameters) > _MAX_FILTERS or not _NOT_FOLLOWED.isdisjoint(parameters))


def _filters_a_list(kind: tuple[str, ...]) -> bool:
    name, *parameters = kind
    return name.endswith("_changelist") and bool(parameters)


def crawl(
    client: Client, *starts: str, filters_seen: set[tuple[str, ...]] | None = None, with_filters: bool = True
) -> tuple[dict[str, PageFound], list[str]]:
    """Follow every link, one of each kind.

    Args:
        client: who follows the links.
        starts: where to begin.
        filters_seen: the filters of lists that another account has followed. They are the same for all.
        with_filters: whether to filter lists at all. What is filtered has no other texts.

    Returns:
        A page of each kind, and what is wrong: bad replies and links without a text.
    """
    seen: dict[tuple[str, ...], set[str]] = {}
    filters_seen = set() if filters_seen is None else filters_seen
    pages: dict[str, PageFound] = {}
    wrong: list[str] = []
    queue = [(start, "") for start in starts]
    count = 0
    while queue and count < _MAX_PAGES:
        url, origin = queue.pop(0)
        url = url.partition("#")[0]
        kind = kind_of(url)
        alike = seen.setdefault(kind, set())
        is_filtered = _filters_a_list(kind)
        if url in alike or len(alike) >= _ALIKE or _is_dull(kind) or (is_filtered and not with_filters):
            continue
        if kind in filters_seen:
            continue
        alike.add(url)
        if is_filtered:
            filters_seen.add(kind)
        count += 1
        reply = client.get(url)
        if reply.status_code >= 400:
            wrong.append(f"{reply.status_code} {url} (linked from {origin})")
            continue
        if reply.status_code >= 300:
            queue.append((urljoin(url, reply.headers["Location"]), url))
            continue
        if not reply.headers.get("Content-Type", "").startswith("text/html") or getattr(reply, "streaming", False):
            reply.close()
            continue
        parser = _Links()
        parser.feed(reply.content.decode())
        templates = {str(template.name) for template in reply.templates}
        pages.setdefault(kind_of(url)[0], PageFound(url, frozenset(templates | parser.elements)))
        wrong += [f"link without a text on {url}: {link}" for link in parser.blank]
        links = [urljoin(url, link) for link in parser.links if not link.startswith(("#", "mailto:", "javascript:"))]
        wrong += [f"{url} links to another machine: {link}" for link in links if urlsplit(link).netloc]
        queue += [(link, url) for link in links if not urlsplit(link).netloc]
    return pages, wrong
