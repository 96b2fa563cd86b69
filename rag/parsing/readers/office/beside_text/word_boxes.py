"""Text boxes, charts and diagrams of a Word document: what they say follows the paragraph that they are anchored in.

xberg puts the paragraphs of a box on one line before that paragraph, and leaves out charts and diagrams.
"""

from collections.abc import Callable

from lxml import etree

from .charts import read_chart_rows, read_paragraphs
from .word_paragraph import word_paragraph

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_ALTERNATIVES, _CHOICE, _FALLBACK = (
    f"{{http://schemas.openxmlformats.org/markup-compatibility/2006}}{name}"
    for name in ("AlternateContent", "Choice", "Fallback")
)
_REFERENCE = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"

# Returns the part that a reference names; None if there is none, or if it is damaged.
FindPart = Callable[[str], etree._Element | None]


def remove_alternatives(root: etree._Element) -> None:
    """Keep one of several forms of the same content: a box is stored for new and for old programs."""
    for alternatives in list(root.iter(_ALTERNATIVES)):
        choices = alternatives.findall(_CHOICE)
        first = next((choice for choice in choices if _has_text(choice)), None)
        fallback = alternatives.find(_FALLBACK)
        kept = first if first is not None else fallback if fallback is not None and _has_text(fallback) else None
        for form in [*choices, *alternatives.findall(_FALLBACK)]:
            if form is not kept and (kept is not None or form is fallback):
                alternatives.remove(form)


def move_boxes(root: etree._Element) -> None:
    """Put the paragraphs and tables of each box behind the paragraph that it is anchored in."""
    ends: dict[etree._Element, etree._Element] = {}
    for box in list(root.iter(f"{_WORD}txbxContent")):
        anchor = next(box.iterancestors(f"{_WORD}p"), None)
        if anchor is not None and anchor.getparent() is not None:
            _put_behind(anchor, list(box), ends)


def write_charts(root: etree._Element, find_part: FindPart) -> None:
    """Put the title and data of each chart, and the texts of each diagram, behind their paragraph.

    Args:
        root: The part `word/document.xml`, which is changed.
        find_part: Returns the part that a reference names.
    """
    ends: dict[etree._Element, etree._Element] = {}
    for element in list(root.iter(_CHART, _DIAGRAM)):
        is_chart = element.tag == _CHART
        part = find_part(element.get(f"{_REFERENCE}{'id' if is_chart else 'dm'}", ""))
        anchor = next(element.iterancestors(f"{_WORD}p"), None)
        if part is None or anchor is None:
            continue
        texts = list(read_paragraphs(part))
        added = [word_paragraph(text) for text in ([" ".join(texts)] if is_chart and texts else texts)]
        if is_chart and (rows := read_chart_rows(part)):
            added.append(_table(rows))
        _put_behind(anchor, added, ends)


def _table(rows: list[list[str]]) -> etree._Element:
    table = etree.Element(f"{_WORD}tbl")
    for row in rows:
        line = etree.SubElement(table, f"{_WORD}tr")
        for cell in row:
            etree.SubElement(line, f"{_WORD}tc").append(word_paragraph(cell))
    return table


def _put_behind(
    anchor: etree._Element, elements: list[etree._Element], ends: dict[etree._Element, etree._Element]
) -> None:
    """Put elements behind a paragraph, and behind what was put there before, the last of which is in `ends`."""
    last = ends.get(anchor, anchor)
    for element in elements:
        last.addnext(element)
        last = element
    ends[anchor] = last


def _has_text(element: etree._Element) -> bool:
    return (
        any(text.text for text in element.iter(f"{_WORD}t")) or next(element.iter(_CHART, _DIAGRAM), None) is not None
    )
