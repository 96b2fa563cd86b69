"""Divides the blocks of a web page into paragraphs: old pages and editors have line breaks between them instead."""

from typing import TypeAlias

import lxml.html
from lxml import etree

_DIVIDED = ("p", "div", "center", "body", "blockquote", "section", "article", "main")
_BLOCKS = frozenset(
    {*_DIVIDED, *(f"h{level}" for level in range(1, 7)), "table", "ul", "ol", "dl", "pre", "form", "hr", "figure"}
    | {"address", "details", "fieldset", "header", "textarea"}
)
_BOLD = frozenset({"b", "strong"})
_MAX_TITLE_CHARACTERS, _MAX_PARTS = 120, 4
# A part of a block: a text, or an element.
_Part: TypeAlias = str | etree._Element
# What designs put next to each other without a space, as boxes of their own.
_INLINE = ("strong", "b", "span", "small", "em", "i", "label", "time")


def separate_words(page: lxml.html.HtmlElement) -> None:
    """Add the spaces that are seen, but not written: "40 euros a year" in bold, and "Single" behind it.

    Only behind several words: of one word, a part may be in bold. Small letters are often the rest of a word.
    """
    for element in page.iter(*_INLINE):
        text, following = element.text or "", element.getnext()
        if len(element) or not text[-1:].isalnum() or len(text.split(None, 1)) < 2:
            continue
        behind = element.tail or (following.text if following is not None and following.tag in _INLINE else "") or ""
        is_word = behind[:1].isalnum() and (element.tag in _BOLD or not behind[0].islower())
        if is_word and next(element.iterancestors("pre", "code"), None) is None:
            element.tail = f" {element.tail or ''}"


def divide_paragraphs(page: lxml.html.HtmlElement) -> None:
    """Make paragraphs of the parts of blocks between two line breaks, and of a bold first line above a text."""
    for block in list(page.iter(*_DIVIDED)):
        if next(block.iterchildren("br"), None) is not None and next(block.iterancestors("pre"), None) is None:
            _divide(block)


def _divide(block: lxml.html.HtmlElement) -> None:
    paragraphs, is_divided = [[block.text or ""]], False
    for child in list(block):
        tail, child.tail = child.tail or "", None
        block.remove(child)
        current = paragraphs[-1]
        if child.tag in _BLOCKS:
            paragraphs += [[child], []]
        elif child.tag == "br" and (_ends_with_break(current) or _is_title(current)):
            is_divided = True
            paragraphs.append([])
        else:
            current.append(child)
        paragraphs[-1].append(tail)
    if not is_divided:
        paragraphs = [[part for paragraph in paragraphs for part in paragraph]]
    elif block.tag == "p":
        block.tag = "div"
    block.text = None
    for paragraph in paragraphs:
        is_block = any(not isinstance(part, str) and part.tag in _BLOCKS for part in paragraph)
        _append(block, paragraph) if is_block or not is_divided else _append_paragraph(block, paragraph)


def _ends_with_break(parts: list[_Part]) -> bool:
    """Return whether there is only space behind the last line break."""
    last = next((part for part in reversed(parts) if not isinstance(part, str) or part.strip()), "")
    return not isinstance(last, str) and last.tag == "br"


def _is_title(parts: list[_Part]) -> bool:
    """Return whether a paragraph so far is one bold line, which is not the name of a field."""
    elements = [part for part in parts if not isinstance(part, str) or part.strip()] if len(parts) <= _MAX_PARTS else []
    if len(elements) != 1 or isinstance(elements[0], str) or elements[0].tag not in _BOLD:
        return False
    title = elements[0].text_content().strip()
    return 0 < len(title) <= _MAX_TITLE_CHARACTERS and not title.endswith(":")


def _append_paragraph(block: lxml.html.HtmlElement, parts: list[_Part]) -> None:
    if any(part.strip() if isinstance(part, str) else part.tag != "br" for part in parts):
        _append(etree.SubElement(block, "p"), parts)


def _append(element: lxml.html.HtmlElement, parts: list[_Part]) -> None:
    last = next(element.iterchildren(reversed=True), None)
    for part in parts:
        if not isinstance(part, str):
            element.append(part)
            last = part
        elif last is not None:
            last.tail = (last.tail or "") + part
        else:
            element.text = (element.text or "") + part
