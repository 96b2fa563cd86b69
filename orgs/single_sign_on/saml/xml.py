"""Reads XML that strangers send: without document types, entities, comments and network."""

import datetime
from typing import TypeAlias

from django.utils.translation import gettext_noop
from lxml import etree

from orgs.single_sign_on.provider_requests import IdentityProviderFailed

NAMESPACES = {
    "samlp": "urn:oasis:names:tc:SAML:2.0:protocol",
    "saml": "urn:oasis:names:tc:SAML:2.0:assertion",
    "md": "urn:oasis:names:tc:SAML:2.0:metadata",
    "ds": "http://www.w3.org/2000/09/xmldsig#",
}
_EARLIEST, _LATEST = (datetime.datetime(year, 1, 1, tzinfo=datetime.UTC) for year in (1900, 9000))
Element: TypeAlias = etree._Element


class InvalidXml(IdentityProviderFailed):
    """The document is not one that a SAML provider sends."""


def parser() -> object:
    """Return a parser without comments, which could cut a signed text in two."""
    return etree.XMLParser(resolve_entities=False, load_dtd=False, no_network=True, remove_comments=True)


def parse(content: bytes) -> Element:
    """Parse a document.

    Raises:
        InvalidXml: If it is malformed or has a document type, which could name entities and files.
    """
    try:
        root = etree.fromstring(content, parser())
    except (etree.XMLSyntaxError, ValueError):
        raise InvalidXml(gettext_noop("The identity provider sent malformed XML.")) from None
    if root.getroottree().docinfo.internalDTD is not None:
        raise InvalidXml(gettext_noop("The identity provider sent XML with a document type."))
    return root


def name(qualified: str) -> str:
    """Return the tag of a name such as `saml:Issuer`, as lxml writes it."""
    prefix, _, local = qualified.partition(":")
    return f"{{{NAMESPACES[prefix]}}}{local}"


def find_only(element: Element, path: str) -> Element:
    """Return the one element at the path.

    Raises:
        InvalidXml: If there is none, or several.
    """
    matches = element.findall(path, NAMESPACES)
    if len(matches) != 1:
        raise InvalidXml(f"The identity provider sent {len(matches)} elements {path} instead of one.")
    return matches[0]


def read_text(element: Element) -> str:
    """Return the text of an element.

    Raises:
        InvalidXml: If it contains elements: its text would have several parts.
    """
    if len(element):
        raise InvalidXml(gettext_noop("The identity provider sent a value with elements within it."))
    return (element.text or "").strip()


def read_time(element: Element, attribute: str) -> datetime.datetime | None:
    """Return the time in an attribute; None if it is missing. Times without an offset are in UTC (SAML Core, 1.3.3).

    Raises:
        InvalidXml: If it is no time.
    """
    text = element.get(attribute)
    if text is None:
        return None
    try:
        time = datetime.datetime.fromisoformat(text)
        time = (time if time.tzinfo else time.replace(tzinfo=datetime.UTC)).astimezone(datetime.UTC)
        # Some providers write the year 9999 for "no end", to which nothing can be added.
        return min(max(time, _EARLIEST), _LATEST)
    except (ValueError, OverflowError):
        raise InvalidXml(gettext_noop("The identity provider sent a malformed time.")) from None
