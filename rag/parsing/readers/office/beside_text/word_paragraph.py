"""Makes a paragraph of a Word document."""

from lxml import etree

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


def word_paragraph(text: str) -> etree._Element:
    """Return a paragraph with a text on one line."""
    paragraph = etree.Element(f"{_WORD}p")
    run = etree.SubElement(paragraph, f"{_WORD}r")
    etree.SubElement(run, f"{_WORD}t", {_SPACE: "preserve"}).text = " ".join(text.split())
    return paragraph
