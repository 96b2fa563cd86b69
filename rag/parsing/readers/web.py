"""Web pages: the part that is about something, with its headings and tables, without navigation and scripts."""

import re
from dataclasses import replace

import lxml.html
import trafilatura
from lxml import etree

from rag.errors import ParseFailed
from rag.parsing import encodings, formats, markdown
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

from .extraction import extract, strip_formatting

_NO_CONTENT = " | ".join(
    [
        "//comment()",
        "//processing-instruction()",
        *(f"//{tag}" for tag in ("script", "style", "template", "noscript", "svg", "iframe", "object", "head/*")),
        *(f"//{tag}" for tag in ("nav", "aside", "footer", "form//button", "input", "select", "img", "picture")),
        "//header[not(ancestor::main or ancestor::article)]",
        "//*[@hidden or @aria-hidden='true']",
        "//*[@role='navigation' or @role='search' or @role='banner' or @role='contentinfo' or @role='complementary']",
        "//*[contains(concat(' ', @class, ' '), ' mw-editsection ')]",
    ]
)
_MAIN = "//main | //*[@role='main'] | //article[not(//main) and not(//*[@role='main']) and not(ancestor::article)]"
_SPACE = re.compile(r"[ \t\r\n\f]+")
_WORD = re.compile(r"\w+")
# What is left of a page when its main text was found; below, too much of it was lost.
_KEPT = 0.6
# Larger pages are taken whole: looking for the main text takes a second and more for each million characters.
_LARGE = 4_000_000
# What is nested deeper is left out by the libraries, without a word.
_DEEPEST = 200
_TOO_DEEP = "The elements of the web page are nested too deeply. Send its text."


def warm_up() -> None:
    """Have trafilatura load what it loads at its first use, before there are forks."""
    trafilatura.extract("<html><body><p>Warm.</p></body></html>", output_format="markdown")


def read(content: bytes, limits: Limits) -> ParsedDocument:
    parsed = parse_html(encodings.decode_text(content), limits)
    if not parsed.text.strip():
        raise ParseFailed("The web page holds no text. Pages that a script fills must be sent as they are shown.")
    return parsed


def parse_html(html: str, limits: Limits) -> ParsedDocument:
    page = _tree(html)
    if page is None:
        return ParsedDocument(text="")
    title = " ".join((page.findtext(".//title") or "").split())
    _tidy(page)
    if _depth(page) > _DEEPEST:
        raise ParseFailed(_TOO_DEEP)
    main = page.xpath(_MAIN)
    part = main[0] if len(main) == 1 else page
    # First: the other one takes the links away, which tell it what is navigation.
    found = _main_text(page) if len(html) <= _LARGE else None
    whole = _whole(part, limits)
    return replace(found if found and _is_complete(found, whole) else whole, title=title)


def _tree(html: str) -> lxml.html.HtmlElement | None:
    # As bytes, since text with an encoding declaration of its own is refused.
    parser = lxml.html.HTMLParser(encoding="utf-8", no_network=True, huge_tree=True)
    try:
        page = lxml.html.document_fromstring(html.encode("utf-8", "replace"), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError):  # nothing in it
        page = None
    if any("depth" in error.message.lower() for error in parser.error_log):  # what is deeper would be left out
        raise ParseFailed(_TOO_DEEP)
    return page


def _depth(page: lxml.html.HtmlElement) -> int:
    depth = deepest = 0
    for event, _ in etree.iterwalk(page, events=("start", "end")):
        depth += 1 if event == "start" else -1
        deepest = max(deepest, depth)
    return deepest


def _tidy(page: lxml.html.HtmlElement) -> None:
    for element in page.xpath(_NO_CONTENT):
        if element.getparent() is not None:
            element.drop_tree()
    for element in list(page.iter("span", "sup", "sub", "font")):
        if element.getparent() is not None:
            element.drop_tag()
    kept = {element for pre in page.iter("pre", "textarea") for element in pre.iter()}
    for element in page.iter():
        if element.text and element not in kept:
            element.text = _SPACE.sub(" ", element.text)
        if element.tail and element.getparent() not in kept:
            element.tail = _SPACE.sub(" ", element.tail)


def _main_text(page: lxml.html.HtmlElement) -> ParsedDocument:
    """What trafilatura takes for the main text: menus and lists of links that nothing marks as such are left out."""
    html = lxml.html.tostring(page, encoding="unicode")
    found = trafilatura.extract(
        html, output_format="markdown", include_comments=False, include_links=False, favor_recall=True
    )
    return markdown.parse_markdown(strip_formatting(found or "").strip())


def _whole(part: lxml.html.HtmlElement, limits: Limits) -> ParsedDocument:
    """Everything in it."""
    for link in list(part.iter("a")):
        if link is not part:
            link.drop_tag()
    html = lxml.html.tostring(part, encoding="unicode", with_tail=False)
    document = f'<!doctype html><html><head><meta charset="utf-8"></head><body>{html}</body></html>'
    found = extract(document.encode("utf-8", "replace"), formats.HTML, limits)
    return markdown.parse_markdown(strip_formatting(found.markdown).strip())


def _is_complete(found: ParsedDocument, whole: ParsedDocument) -> bool:
    """Whether it has most of the words, and all headings of a page's upper levels."""
    headings = {heading.title for heading in found.headings}
    missing = [heading for heading in whole.headings if heading.level <= 3 and heading.title not in headings]
    return not missing and len(_WORD.findall(found.text)) >= _KEPT * len(_WORD.findall(whole.text))
