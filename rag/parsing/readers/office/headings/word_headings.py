"""The headings of Word documents by the type of their paragraphs."""

import itertools
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace

from lxml import etree

from rag.parsing.readers.office.numbering.labels import Label

from .choose_headings import MAX_LEVEL, Paragraph, choose_headings

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING = re.compile(r"heading ?([1-9])|title", re.I)
_OFF, _BREAKS = ("0", "false", "off", "none"), ("page", "column")
_MAX_BASES = 20
# How many paragraphs a text box has that may have headings.
_MIN_PARAGRAPHS = 3
# xberg puts paragraphs together that are bold or italic as a whole; the text has no emphasis afterwards.
_EMPHASIS = tuple(f"{_WORD}{name}" for name in ("b", "bCs", "i", "iCs", "u", "highlight", "strike"))


@dataclass(frozen=True, slots=True)
class _Type:
    is_bold: bool = False
    is_underlined: bool = False
    size: float = 20.0  # in half points, of documents that do not say it


@dataclass(frozen=True, slots=True)
class _Styles:
    defaults: _Type
    types: dict[str, _Type]
    levels: dict[str, int]


def mark_headings(
    root: etree._Element, styles: etree._Element | None, labels: Mapping[etree._Element, Label]
) -> set[etree._Element]:
    """Give paragraphs that are headings by their type the style of headings, and remove emphasis.

    Args:
        root: The part `word/document.xml`, which is changed.
        styles: The part `word/styles.xml`, if there is one.
        labels: The labels of the numbered paragraphs.

    Returns:
        The paragraphs that are headings.
    """
    known = _read_styles(styles)
    for element in list(root.iter(f"{_WORD}p")):
        _divide_first_line(element, known)
    elements = [element for element in root.iter(f"{_WORD}p") if _text(element).strip()]
    paragraphs = [_paragraph(element, known, labels.get(element)) for element in elements]
    levels = choose_headings(paragraphs)
    for place, level in levels.items():
        properties = elements[place].find(f"{_WORD}pPr")
        if properties is None:
            properties = etree.Element(f"{_WORD}pPr")
            elements[place].insert(0, properties)
        for style in properties.findall(f"{_WORD}pStyle"):
            properties.remove(style)
        properties.insert(0, etree.Element(f"{_WORD}pStyle", {f"{_WORD}val": f"Heading{level}"}))
    for properties in root.iter(f"{_WORD}rPr"):
        for mark in [child for child in properties if child.tag in _EMPHASIS]:
            properties.remove(mark)
    return {element for place, element in enumerate(elements) if paragraphs[place].level or place in levels}


def _read_styles(styles: etree._Element | None) -> _Styles:
    if styles is None:
        return _Styles(_Type(), {}, {})
    defaults = _changed(_Type(), styles.find(f"{_WORD}docDefaults/{_WORD}rPrDefault/{_WORD}rPr"))
    elements = {style.get(f"{_WORD}styleId", ""): style for style in styles.iter(f"{_WORD}style")}
    types, levels = {}, {}
    for name, style in elements.items():
        if match := _HEADING.fullmatch(_value(style, "name")) or _HEADING.fullmatch(name):
            levels[name] = min(int(match[1] or 1), MAX_LEVEL)
        bases = [style]
        while len(bases) < _MAX_BASES and (base := elements.get(_value(bases[-1], "basedOn"))) is not None:
            bases.append(base)
        known = defaults if style.get(f"{_WORD}type") == "paragraph" else _Type(size=0.0)
        for base in reversed(bases):
            known = _changed(known, base.find(f"{_WORD}rPr"))
        types[name] = known
        if style.get(f"{_WORD}type") == "paragraph" and style.get(f"{_WORD}default") in ("1", "true"):
            types[""] = known
    return _Styles(defaults, types, levels)


def _changed(known: _Type, properties: etree._Element | None) -> _Type:
    """Return a type with what the properties of a style or run change."""
    if properties is None:
        return known
    bold, line, size = (properties.find(f"{_WORD}{name}") for name in ("b", "u", "sz"))
    if bold is not None:
        known = replace(known, is_bold=bold.get(f"{_WORD}val", "1") not in _OFF)
    if line is not None:
        known = replace(known, is_underlined=line.get(f"{_WORD}val", "none") not in _OFF)
    value = size.get(f"{_WORD}val", "") if size is not None else ""
    return replace(known, size=float(value)) if value.isdecimal() else known


def _divide_first_line(element: etree._Element, styles: _Styles) -> None:
    """Make a paragraph of a bold first line, which is a title above a line break."""
    runs = [child for child in element if child.tag == f"{_WORD}r"]
    ending = next((number for number, run in enumerate(runs) if run.find(f"{_WORD}br") is not None), None)
    if ending is None:
        return
    parts = [part for part in runs[ending] if part.tag != f"{_WORD}rPr"]
    line_break = parts[0] if parts[0].tag == f"{_WORD}br" else parts[-1]
    if line_break.tag != f"{_WORD}br" or line_break.get(f"{_WORD}type", "") in _BREAKS:
        return
    start = ending if line_break is parts[0] else ending + 1
    basic, title = _basic_type(element, styles), "".join(map(_text, runs[:start])).rstrip()
    is_bold, is_bold_below = (
        all(_run_type(run, basic, styles).is_bold for run in part if _has_words(run))
        for part in (runs[:start], runs[start:])
    )
    if title and is_bold and not is_bold_below and not title.endswith(":"):
        runs[ending].remove(line_break)
        line = etree.Element(f"{_WORD}p")
        line.extend([*map(deepcopy, element.findall(f"{_WORD}pPr")), *runs[:start]])
        element.addprevious(line)


def _has_words(run: etree._Element) -> bool:
    return any(map(str.isalnum, _text(run)))


def _basic_type(element: etree._Element, styles: _Styles) -> _Type:
    properties = element.find(f"{_WORD}pPr")
    style = _value(properties, "pStyle") if properties is not None else ""
    return styles.types.get(style, styles.types.get("", styles.defaults))


def _paragraph(element: etree._Element, styles: _Styles, label: Label | None) -> Paragraph:
    properties = element.find(f"{_WORD}pPr")
    style = _value(properties, "pStyle") if properties is not None else ""
    runs = list(_runs(element, _basic_type(element, styles), styles))
    is_numbered = label is not None and bool(label.text)
    is_item = properties is not None and properties.find(f"{_WORD}numPr") is not None and not is_numbered
    container = next(element.iterancestors(f"{_WORD}tc", f"{_WORD}txbxContent"), None)
    is_within = container is not None and (container.tag == f"{_WORD}tc" or not _is_text(container))
    match = _HEADING.fullmatch(style)
    return Paragraph(
        _text(element),
        is_bold=all(run.is_bold for run in runs),
        is_underlined=all(run.is_underlined for run in runs),
        size=max(run.size for run in runs),
        level=styles.levels.get(style, int(match[1] or 1) if match else 0),
        may_be_heading=not is_item and not is_within,
        is_centered=properties is not None and _value(properties, "jc") == "center",
        item_of=f"{label.list_id} {label.level} {label.text[0].isdecimal()}" if label and is_numbered else "",
    )


def _runs(element: etree._Element, basic: _Type, styles: _Styles) -> Iterator[_Type]:
    """Yield the types of the runs that have letters or digits; that of the paragraph if none has."""
    runs = [run for run in element.iter(f"{_WORD}r") if _has_words(run)]
    yield from (_run_type(run, basic, styles) for run in runs)
    if not runs:
        yield basic


def _run_type(run: etree._Element, basic: _Type, styles: _Styles) -> _Type:
    properties = run.find(f"{_WORD}rPr")
    style = styles.types.get(_value(properties, "rStyle")) if properties is not None else None
    known = basic
    if style:
        known = _Type(
            basic.is_bold or style.is_bold, basic.is_underlined or style.is_underlined, style.size or basic.size
        )
    return _changed(known, properties)


def _is_text(box: etree._Element) -> bool:
    """Return whether a box has several paragraphs: not only a label."""
    shown = (paragraph for paragraph in box.iter(f"{_WORD}p") if _text(paragraph).strip())
    return sum(1 for _ in itertools.islice(shown, _MIN_PARAGRAPHS)) == _MIN_PARAGRAPHS


def _text(element: etree._Element) -> str:
    """Return the text of a paragraph or run without that of the boxes in it."""
    parts = []
    for child in element.iter(f"{_WORD}t", f"{_WORD}tab"):
        box = next(child.iterancestors(f"{_WORD}txbxContent", element.tag), None)
        if box is not None and box is not element:
            continue
        parts.append("\t" if child.tag == f"{_WORD}tab" and child.getparent().tag == f"{_WORD}r" else child.text or "")
    return "".join(parts)


def _value(element: etree._Element, name: str) -> str:
    child = element.find(f"{_WORD}{name}")
    return "" if child is None else child.get(f"{_WORD}val", "")
