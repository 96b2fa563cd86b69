"""Makes a paragraph or a run of a Word document."""

from lxml import etree

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


def word_paragraph(text: str) -> etree._Element:
    """Return a paragraph with a text on one line."""
    paragraph = etree.Element(f"{_WORD}p")
    paragraph.append(word_run(text))
    return paragraph


def word_run(text: str) -> etree._Element:
    """Return a run with a text on one line."""
    run = etree.Element(f"{_WORD}r")
    etree.SubElement(run, f"{_WORD}t", {_SPACE: "preserve"}).text = " ".join(text.split())
    return run
