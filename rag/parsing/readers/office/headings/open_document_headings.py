"""The headings of OpenDocument texts by the type of their paragraphs."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from lxml import etree

from .choose_headings import MAX_LEVEL, Paragraph, choose_headings

_TABLE, _TEXT, _STYLE, _DRAW = (
    f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}" for name in ("table", "text", "style", "drawing")
)
_FORMAT = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
# The styles of other headings inherit from "Heading".
_HEADING_STYLE = re.compile(r"Heading_20_(\d{1,2})|Title|Heading")
_POINTS = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)pt")
_MAX_BASES = 20


@dataclass(frozen=True, slots=True)
class _Type:
    is_bold: bool = False
    is_underlined: bool = False
    size: float = 12.0  # in points, of documents that do not say it


class _Styles:
    """The styles of a document by their names, with what they inherit."""

    def __init__(self, parts: Iterable[etree._Element]) -> None:
        self._elements: dict[str, etree._Element] = {}
        self._default = _Type()
        for part in parts:
            for style in part.iter(f"{_STYLE}default-style"):
                if style.get(f"{_STYLE}family") == "paragraph":
                    self._default = _changed(self._default, style)
            self._elements |= {style.get(f"{_STYLE}name", ""): style for style in part.iter(f"{_STYLE}style")}

    def bases(self, name: str) -> list[str]:
        """Return the name of a style and of those that it inherits from."""
        names = [name]
        while len(names) < _MAX_BASES and (style := self._elements.get(names[-1])) is not None:
            names.append(style.get(f"{_STYLE}parent-style-name", ""))
        return names

    def type(self, name: str, known: _Type | None = None) -> _Type:
        """Return the type that a style makes of another one, or of that of the document."""
        known = known or self._default
        for base in reversed(self.bases(name)):
            style = self._elements.get(base)
            known = known if style is None else _changed(known, style)
        return known

    def is_centered(self, name: str) -> bool:
        """Return whether paragraphs with a style are in the middle of the page."""
        styles = (self._elements.get(base) for base in self.bases(name))
        properties = (style.find(f"{_STYLE}paragraph-properties") for style in styles if style is not None)
        alignments = (part.get(f"{_FORMAT}text-align", "") for part in properties if part is not None)
        return next(filter(None, alignments), "") == "center"


def mark_headings(root: etree._Element, styles: etree._Element | None) -> None:
    """Make headings of the paragraphs with a style of headings, and of those that are headings by their type.

    Args:
        root: The part `content.xml`, which is changed.
        styles: The part `styles.xml`, if there is one.
    """
    known = _Styles(part for part in (styles, root) if part is not None)
    for element in list(root.iter(f"{_TEXT}p")):
        for name in known.bases(element.get(f"{_TEXT}style-name", "")):
            if match := _HEADING_STYLE.fullmatch(name):
                _make_heading(element, int(match[1]) if match[1] else 2 if name == "Heading" else 1)
                break
    elements = [element for element in root.iter(f"{_TEXT}p", f"{_TEXT}h") if _text(element).strip()]
    for place, level in choose_headings([_paragraph(element, known) for element in elements]).items():
        _make_heading(elements[place], level)


def _make_heading(element: etree._Element, level: int) -> None:
    element.tag = f"{_TEXT}h"
    element.set(f"{_TEXT}outline-level", str(max(1, min(level, MAX_LEVEL))))


def _changed(known: _Type, style: etree._Element) -> _Type:
    for properties in style.iter(f"{_STYLE}text-properties"):
        weight, line = properties.get(f"{_FORMAT}font-weight"), properties.get(f"{_STYLE}text-underline-style")
        size = _POINTS.fullmatch(properties.get(f"{_FORMAT}font-size", ""))
        known = replace(
            known,
            is_bold=weight in ("bold", "600", "700", "800", "900") if weight else known.is_bold,
            is_underlined=line != "none" if line else known.is_underlined,
            size=float(size[1]) if size else known.size,
        )
    return known


def _paragraph(element: etree._Element, styles: _Styles) -> Paragraph:
    basic = styles.type(element.get(f"{_TEXT}style-name", ""))
    types = list(_types(element, basic, styles)) or [basic]
    level = element.get(f"{_TEXT}outline-level", "1") if element.tag == f"{_TEXT}h" else "0"
    containers = (f"{_TABLE}table-cell", f"{_TEXT}list-item", f"{_TEXT}index-body", f"{_TEXT}note", f"{_DRAW}text-box")
    return Paragraph(
        _text(element),
        is_bold=all(part.is_bold for part in types),
        is_underlined=all(part.is_underlined for part in types),
        size=max(part.size for part in types),
        level=int(level) if level.isdecimal() else 1,
        may_be_heading=next(element.iterancestors(*containers), None) is None,
        is_centered=styles.is_centered(element.get(f"{_TEXT}style-name", "")),
    )


def _types(element: etree._Element, basic: _Type, styles: _Styles) -> Iterator[_Type]:
    """Yield the types of the parts of a paragraph that have letters or digits."""
    if any(map(str.isalnum, element.text or "")):
        yield basic
    for child in element:
        if child.tag == f"{_TEXT}span":
            yield from _types(child, styles.type(child.get(f"{_TEXT}style-name", ""), basic), styles)
        elif child.tag == f"{_TEXT}a":
            yield from _types(child, basic, styles)
        if any(map(str.isalnum, child.tail or "")):
            yield basic


def _text(element: etree._Element) -> str:
    return "".join(element.itertext()) + "\t" * len(element.findall(f"{_TEXT}tab"))
