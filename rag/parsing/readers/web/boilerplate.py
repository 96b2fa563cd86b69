"""Removes what is not part of the text of a web page: scripts, navigation, footers, and what is not shown."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import lxml.html
from lxml import etree

# Notes within the text, as docutils and others mark them.
_NOTE = " or ".join(
    [
        "starts-with(@role, 'doc-') or @role='note'",
        *(
            f"contains(concat(' ', @class, ' '), ' {name} ')"
            for name in ("admonition", "note", "warning", "tip", "footnote", "footnote-list", "topic", "callout")
        ),
    ]
)
# The style of an element in small letters, without white space.
_STYLE = "translate(@style, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ \t\r\n', 'abcdefghijklmnopqrstuvwxyz')"
_BOILERPLATE = " | ".join(
    [
        *(f"//{tag}" for tag in ("script", "style", "template", "noscript", "svg", "iframe", "object", "xml")),
        *(f"//head/{tag}" for tag in ("title", "meta", "link", "base")),
        *(f"//{tag}" for tag in ("nav", "footer", "form//button", "input", "select", "img", "picture")),
        f"//aside[not({_NOTE})]",
        # A sign beside a heading, which links to it.
        "//a[starts-with(@href, '#') and contains('¶#§', normalize-space()) and string-length(normalize-space()) = 1]",
        *(f"//*[contains({_STYLE}, '{hidden}')]" for hidden in ("display:none", "visibility:hidden")),
        "//header[not(ancestor::main or ancestor::article)]",
        "//*[@hidden or @aria-hidden='true']",
        "//*[@role='navigation' or @role='search' or @role='banner' or @role='contentinfo' or @role='complementary']",
        "//*[contains(concat(' ', @class, ' '), ' mw-editsection ')]",
        # Comments of Google Docs.
        "//sup[a[starts-with(@href, '#cmnt')]] | //div[p[1]/a[starts-with(@href, '#cmnt_ref')]]",
        "//div[@id='footer' or @id='page-footer']",
        # What is read aloud, not seen: "Previous" and "Next" of a row of pictures, "Skip to content".
        *(
            f"//*[contains(concat(' ', @class, ' '), ' {name} ')]"
            for name in ("visually-hidden", "sr-only", "screen-reader-text", "visuallyhidden", "cc-revoke", "cc-window")
        ),
    ]
)
# Words of classes and ids of navigation and footers, and what share of their text is in links.
_NAVIGATION = frozenset({"nav", "navbar", "navigation", "menu", "submenu", "breadcrumb", "breadcrumbs", "topbar"})
_FOOTER = frozenset({"footer", "copyright"})
_MIN_NAVIGATION_SHARE, _MIN_FOOTER_SHARE = 0.8, 0.5
# Navigation has several links, of few characters each; a list of articles has whole sentences.
_MIN_LINKS, _MAX_LINK_CHARACTERS = 3, 40
# A question about cookies has a name of both kinds: a page may also sell some.
_COOKIES, _MAX_COOKIE_CHARACTERS = frozenset({"cookie", "cookies"}), 500
_NOTICES = frozenset(
    {"banner", "bar", "notice", "notification", "consent", "law", "policy", "message", "popup", "modal", "alert"}
)
_REMOVED = "ragsite-removed"
_NAME = re.compile(r"[a-z]+")


@dataclass(slots=True)
class _Text:
    """How many characters an element has, how many of them in links, how many links, and whether it has headings."""

    characters: int = 0
    linked: int = 0
    links: int = 0
    has_headings: bool = False


def remove_boilerplate(page: lxml.html.HtmlElement) -> None:
    """Remove what is marked as no part of the text, and lists of links whose names say that they are navigation."""
    _remove(page, page.xpath(_BOILERPLATE))
    etree.strip_tags(page, etree.Comment, etree.ProcessingInstruction)
    texts = _texts(page)
    outermost, within = list[lxml.html.HtmlElement](), set[lxml.html.HtmlElement]()
    for element in page.iter():
        is_outermost = element.getparent() not in within and _is_navigation(element, texts[element])
        outermost += [element] if is_outermost else []
        if is_outermost or element.getparent() in within:
            within.add(element)
    # A page that has nothing else is read with it.
    if sum(texts[element].characters for element in outermost) < texts[page].characters:
        _remove(page, outermost)


def _remove(page: lxml.html.HtmlElement, elements: Iterable[lxml.html.HtmlElement]) -> None:
    """Remove elements together. One after the other, each copies the text before it."""
    for element in elements:
        if element.getparent() is not None:
            element.tag = _REMOVED
    etree.strip_elements(page, _REMOVED, with_tail=False)


def _texts(page: lxml.html.HtmlElement) -> dict[lxml.html.HtmlElement, _Text]:
    texts: dict[lxml.html.HtmlElement, _Text] = {}
    for element in reversed(list(page.iter())):  # children before their parents
        known = texts.setdefault(element, _Text())
        known.characters += _length(element.text)
        if element.tag == "a" and element.get("href"):
            known.linked, known.links = known.characters, 1
        known.has_headings |= element.tag in ("h1", "h2")
        parent = element.getparent()
        if parent is not None:
            above = texts.setdefault(parent, _Text())
            above.characters += known.characters + _length(element.tail)
            above.linked += known.linked
            above.links += known.links
            above.has_headings |= known.has_headings
    return texts


def _length(text: str | None) -> int:
    return sum(map(len, text.split())) if text else 0


def _is_navigation(element: lxml.html.HtmlElement, text: _Text) -> bool:
    if element.tag in ("html", "body", "main", "article") or text.has_headings:
        return False
    names = set(_NAME.findall(f"{element.get('class', '')} {element.get('id', '')}".lower()))
    if "cookieconsent" in names or (names & _COOKIES and names & _NOTICES):
        return text.characters <= _MAX_COOKIE_CHARACTERS
    is_list = text.links >= _MIN_LINKS and text.linked <= _MAX_LINK_CHARACTERS * text.links
    if not is_list:
        return False
    share = _MIN_NAVIGATION_SHARE if names & _NAVIGATION else _MIN_FOOTER_SHARE if names & _FOOTER else 2
    return text.linked >= share * text.characters
