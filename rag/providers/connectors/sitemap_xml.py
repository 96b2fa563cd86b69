"""Reads sitemaps and indexes of sitemaps, plain or compressed with gzip, of a limited size."""

import io
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from lxml import etree

from . import small_xml
from .base import ListingFailed

# The protocol's limits.
MAX_BYTES = 50 * 1024 * 1024
MAX_ENTRIES = 50_000
MAX_SITEMAPS = 5_000
# A longer address is no document's path. Python takes a host apart in a time that grows with the square of its length.
MAX_ADDRESS_CHARACTERS = 2_000
# A page has elements for its address, the time of its last change, and perhaps its translations and pictures.
_MAX_ELEMENTS = 20 * MAX_ENTRIES
_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class SitemapPage:
    """A page that a sitemap names. `modified` is its `lastmod` as it is written; empty without one."""

    url: str
    modified: str


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The content of a sitemap: pages; or of an index: addresses of sitemaps."""

    pages: list[SitemapPage]
    sitemaps: list[str]


def read(parts: Iterable[bytes]) -> bytes:
    """Return the whole content, decompressed.

    Raises:
        ListingFailed: If it is too large or broken.
    """
    content = bytearray()
    for part in parts:
        content += part
        if len(content) > MAX_BYTES:
            raise ListingFailed("A sitemap has more than 50 MB.")
    if not content.startswith(_GZIP_MAGIC):
        return bytes(content)
    decompressor = zlib.decompressobj(wbits=31)  # gzip, with the largest window
    try:
        plain = decompressor.decompress(bytes(content), MAX_BYTES + 1)
    except zlib.error as error:
        raise ListingFailed("A compressed sitemap is broken.") from error
    if len(plain) > MAX_BYTES:
        raise ListingFailed("A sitemap has more than 50 MB.")
    if not decompressor.eof:
        raise ListingFailed("A compressed sitemap is broken.")
    return plain


def parse(content: bytes) -> Sitemap:
    """Return what a sitemap or an index names.

    Raises:
        ListingFailed: If it is neither a sitemap nor an index, is incomplete, or has too many entries.
    """
    small_xml.require_small(content, max_elements=_MAX_ELEMENTS)
    sitemap = Sitemap([], [])
    events = etree.iterparse(
        io.BytesIO(content),
        events=("start", "end"),
        encoding=small_xml.ENCODING,
        resolve_entities=False,
        no_network=True,
        huge_tree=False,
    )
    try:
        _, root = next(events)
        if etree.QName(root).localname not in ("urlset", "sitemapindex"):
            raise ListingFailed("The address does not have a sitemap.")
        for event, element in events:
            if event == "end" and element.getparent() is root:
                _add_entry(sitemap, element)
                element.clear()
    except (etree.XMLSyntaxError, StopIteration) as error:
        raise ListingFailed("The address does not have a complete sitemap.") from error
    return sitemap


def _add_entry(sitemap: Sitemap, element: etree._Element) -> None:
    url = (element.findtext("{*}loc") or "").strip()
    name = etree.QName(element).localname if isinstance(element.tag, str) else ""
    if name == "url" and url:
        sitemap.pages.append(SitemapPage(url, (element.findtext("{*}lastmod") or "").strip()))
    elif name == "sitemap" and url:
        if len(url) > MAX_ADDRESS_CHARACTERS:
            raise ListingFailed(f"A sitemap's address has more than {MAX_ADDRESS_CHARACTERS:,} characters.")
        sitemap.sitemaps.append(url)
    if len(sitemap.pages) + len(sitemap.sitemaps) > MAX_ENTRIES:
        raise ListingFailed(f"A sitemap has more than {MAX_ENTRIES:,} entries.")
