"""Labels of items that are typed before their text as well, as macOS writes lists into Word documents."""

import re
from dataclasses import replace

from lxml import etree

from .labels import Label

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_NUMBER = re.compile(r"\(?(?:\d{1,3}(?:\.\d{1,3}){0,5}|[a-zA-Z]|[ivxlcIVXLC]{2,7})[.)]?")
_CLOSING_SIGNS, _SIGNS = (".", ")"), "(.)"
_BULLETS = frozenset("•◦▪‣⁃∙·–-*○●■□")
_MAX_CHARACTERS = 30


def take_typed_label(paragraph: etree._Element, label: Label) -> Label:
    """Return the label that is typed in a numbered paragraph and remove it; the counted one if none is typed.

    It is what is before the first tab: a number with a sign behind it, the number that is counted, or a bullet.
    """
    typed, before = list[etree._Element](), ""
    for child in paragraph.iter(f"{_WORD}t", f"{_WORD}tab"):
        if child.tag == f"{_WORD}t":
            typed.append(child)
            before += child.text or ""
            if len(before) > _MAX_CHARACTERS:
                break
        elif child.getparent().tag == f"{_WORD}r":
            text = before.strip()
            if not text and typed:
                continue
            is_bullet, is_counted = text in _BULLETS, text.strip(_SIGNS) == label.text.strip(_SIGNS)
            is_closed = text.endswith(_CLOSING_SIGNS)
            # Without a sign behind it, it may be a time or an amount.
            if not is_bullet and not (_NUMBER.fullmatch(text) and (is_closed or is_counted)):
                break
            for part in typed:
                part.text = ""
            child.getparent().remove(child)
            if is_bullet:
                return replace(label, text="", is_bullet=True)
            return replace(label, text=text, is_bullet=False) if is_closed else label
    return label
