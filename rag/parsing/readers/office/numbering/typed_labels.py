"""Labels of items that are typed before their text as well, as macOS writes lists into Word documents."""

import re
from dataclasses import replace

from lxml import etree

from .labels import Label

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_NUMBER = re.compile(r"\(?(?:\d{1,3}(?:\.\d{1,3}){0,5}|[a-zA-Z]|[ivxlcIVXLC]{2,7})[.)]?")
_BULLETS = frozenset("•◦▪‣⁃∙·–-*○●■□")


def take_typed_label(paragraph: etree._Element, label: Label) -> Label:
    """Return the label that is typed in a numbered paragraph and remove it; the counted one if none is typed.

    It is what is before the first tab: a number or a bullet.
    """
    typed = list[etree._Element]()
    for child in paragraph.iter(f"{_WORD}t", f"{_WORD}tab"):
        if child.tag == f"{_WORD}t":
            typed.append(child)
        elif child.getparent().tag == f"{_WORD}r":
            text = "".join(part.text or "" for part in typed).strip()
            if not text and typed:
                continue
            if not (_NUMBER.fullmatch(text) or text in _BULLETS):
                break
            for part in typed:
                part.text = ""
            child.getparent().remove(child)
            is_bullet = text in _BULLETS
            return replace(label, text="" if is_bullet else text, is_bullet=is_bullet)
    return label
