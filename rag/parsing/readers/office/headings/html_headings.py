"""The headings of web pages by the type of their paragraphs: editors and old pages have bold or large lines instead."""

from collections.abc import Iterator

import lxml.html

from .choose_headings import MAX_LEVEL, Paragraph, choose_headings

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_PARAGRAPHS = frozenset({"p", "div", "center", "li", "td", "th", "dt", "dd", "caption", "figcaption", "summary"})
_MAY_BE_HEADINGS = frozenset({"p", "div", "center"})
# In such elements no paragraph is a heading.
_PARTS = ("li", "td", "th", "dl", "blockquote", "figure", "address", "form", "label", "pre")
_BOLD, _UNDERLINED = frozenset({"b", "strong"}), frozenset({"u"})
# What `<font size>` means in pixels, and `<big>` relative to the text.
_FONT_SIZES = {"1": 10.0, "2": 13.0, "3": 16.0, "4": 18.0, "5": 24.0, "6": 32.0, "7": 48.0}
_TEXT_SIZE, _BIGGER = 16.0, 1.2
_MAX_DEPTH = 30


def mark_headings(page: lxml.html.HtmlElement) -> None:
    """Make headings of the paragraphs that are headings by their type, each below the heading before it."""
    elements = [
        element
        for element in page.iter(*_PARAGRAPHS, *_HEADINGS)
        if _has_own_text(element) and any(map(str.isalnum, element.text_content()))
    ]
    chosen = choose_headings([_paragraph(element) for element in elements])
    level = 1
    for place, element in enumerate(elements):
        if place in chosen:
            element.tag = f"h{min(level + 1, MAX_LEVEL)}"
        else:
            level = _HEADINGS.get(element.tag, level)


def _has_own_text(element: lxml.html.HtmlElement) -> bool:
    return next(element.iterdescendants(*_PARAGRAPHS, *_HEADINGS, "table", "ul", "ol", "pre"), None) is None


def _paragraph(element: lxml.html.HtmlElement) -> Paragraph:
    text = " ".join(element.text_content().split())
    types = list(_types(element, False, False, _TEXT_SIZE, 0))
    is_part = element.tag not in _MAY_BE_HEADINGS or next(element.iterancestors(*_PARTS), None) is not None
    is_link = sum(len(link.text_content().strip()) for link in element.iter("a") if link.get("href")) * 2 > len(text)
    return Paragraph(
        text,
        is_bold=all(is_bold for is_bold, _, _ in types),
        is_underlined=all(is_underlined for _, is_underlined, _ in types),
        size=max((size for _, _, size in types), default=_TEXT_SIZE),
        level=_HEADINGS.get(element.tag, 0),
        may_be_heading=not is_part and not is_link,
    )


def _types(
    element: lxml.html.HtmlElement, is_bold: bool, is_underlined: bool, size: float, depth: int
) -> Iterator[tuple[bool, bool, float]]:
    """Yield whether the parts of a paragraph that have letters or digits are bold and underlined, and their sizes."""
    if any(map(str.isalnum, element.text or "")):
        yield is_bold, is_underlined, size
    for child in element if depth < _MAX_DEPTH else ():
        larger = size * _BIGGER if child.tag == "big" else size
        if child.tag == "font":
            larger = _FONT_SIZES.get(child.get("size", "").strip(), size)
        yield from _types(
            child, is_bold or child.tag in _BOLD, is_underlined or child.tag in _UNDERLINED, larger, depth + 1
        )
        if any(map(str.isalnum, child.tail or "")):
            yield is_bold, is_underlined, size
