"""Writes the labels of paragraphs into a Word document as text, because xberg counts lists in its own way."""

from collections.abc import Collection, Mapping

from lxml import etree

from .labels import Label

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


def write_labels(labels: Mapping[etree._Element, Label], headings: Collection[etree._Element]) -> None:
    """Change the paragraphs of a document: items stay items of lists with bullets, others become plain paragraphs.

    Args:
        labels: The labels of the paragraphs.
        headings: Those paragraphs that are headings.
    """
    for paragraph, label in labels.items():
        properties = _properties(paragraph)
        for reference in properties.findall(f"{_WORD}numPr"):
            properties.remove(reference)
        is_heading = paragraph in headings
        is_in_cell = next(paragraph.iterancestors(f"{_WORD}tc"), None) is not None
        has_text = bool(_own_texts(paragraph))
        if label.is_item and not is_heading and not is_in_cell:
            properties.append(_reference(label))
            _write(paragraph, label.as_prefix if has_text else "")
            continue
        if not is_heading:
            for style in properties.findall(f"{_WORD}pStyle"):  # it may be one of lists
                properties.remove(style)
        if label.text and (has_text or is_in_cell):  # a column of numbers
            _write(paragraph, f"{label.text} ")


def _properties(paragraph: etree._Element) -> etree._Element:
    properties = paragraph.find(f"{_WORD}pPr")
    if properties is None:
        properties = etree.Element(f"{_WORD}pPr")
        paragraph.insert(0, properties)
    return properties


def _reference(label: Label) -> etree._Element:
    reference = etree.Element(f"{_WORD}numPr")
    etree.SubElement(reference, f"{_WORD}ilvl", {f"{_WORD}val": str(label.level)})
    etree.SubElement(reference, f"{_WORD}numId", {f"{_WORD}val": label.list_id})
    return reference


def _write(paragraph: etree._Element, prefix: str) -> None:
    """Put a prefix before the first letters of a paragraph, which may be on the page after a break."""
    if not prefix:
        return
    text = next(iter(_own_texts(paragraph)), None)
    if text is None:
        run = etree.Element(f"{_WORD}r")
        paragraph.insert(1, run)
        text = etree.SubElement(run, f"{_WORD}t")
    text.text = prefix + (text.text or "")
    text.set(_SPACE, "preserve")


def _own_texts(paragraph: etree._Element) -> list[etree._Element]:
    """Return the texts of a paragraph, without those of boxes that are anchored in it."""
    texts = (text for text in paragraph.iter(f"{_WORD}t") if text.text)
    return [text for text in texts if next(text.iterancestors(f"{_WORD}p"), None) is paragraph]
