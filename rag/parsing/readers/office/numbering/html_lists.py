"""The numbers of lists in HTML, in web pages and books: letters, Roman numbers, and numbers out of order."""

import re
from collections.abc import Mapping

from lxml import etree

from .write_number import write_number

# How a list is numbered: by an attribute, a style, or a rule of a style sheet for the class of the list.
_STYLE = re.compile(r"list-style(?:-type)?\s{0,5}:[^;{}]{0,50}?\b(\w{5}-\w{5})\b")
_RULE = re.compile(
    r"(?:^|[\s,}])(?:ol)?\.([\w-]{1,80})(?:\s{0,5}>\s{0,5}li(?::{1,2}before)?)?\s{0,5}\{([^{}]{0,500})\}"
)
# Google Docs counts in rules for the items: `content: "" counter(lst-1, lower-latin) ") "`.
_COUNTER = re.compile(r"content\s{0,5}:[^;{}]{0,100}\bcounter\([\w-]{1,80}\s{0,5},\s{0,5}(\w{5}-\w{5})\)")
_FORMATS = {
    **{"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"},
    **{"lower-alpha": "lowerLetter", "upper-alpha": "upperLetter", "lower-latin": "lowerLetter"},
    **{"upper-latin": "upperLetter", "lower-roman": "lowerRoman", "upper-roman": "upperRoman"},
}
_MAX_DIGITS, _MAX_STYLE, _MAX_STYLE_SHEET = 8, 500, 1_000_000


def read_styles(sheet: str) -> dict[str, str]:
    """Return how the lists of a style sheet are numbered that have letters or Roman numbers.

    Args:
        sheet: The style sheet.

    Returns:
        Class of a list → the name of its numbers in CSS, such as `lower-alpha`.
    """
    rules = ((rule[1], _STYLE.search(rule[2]) or _COUNTER.search(rule[2])) for rule in _RULE.finditer(sheet))
    return {name: style[1].lower() for name, style in rules if style and style[1].lower() in _FORMATS}


def write_numbers(root: etree._Element, styles: Mapping[str, str]) -> None:
    """Write the numbers of lists as text that have letters or Roman numbers, or numbers out of order.

    Args:
        root: The page, in HTML or XHTML.
        styles: What `read_styles` returned for its style sheets.
    """
    for element in list(root.iter("{*}ol")):
        namespace = str(element.tag)[: -len("ol")]
        items = element.findall(f"{namespace}li")
        number_format = _FORMATS.get(_read_style(element, styles), "decimal")
        is_reversed = element.get("reversed") is not None
        is_counted = not is_reversed and not element.get("start") and not any(item.get("value") for item in items)
        if number_format == "decimal" and is_counted:
            continue
        number = _whole_number(element.get("start", ""), len(items) if is_reversed else 1)
        for item in items:
            number = _whole_number(item.get("value", ""), number)
            is_paragraph = len(item) and item[0].tag == f"{namespace}p" and not (item.text or "").strip()
            first = item[0] if is_paragraph else item
            first.text = f"{write_number(number, number_format)}. {(first.text or '').lstrip()}"
            number += -1 if is_reversed else 1
        element.tag = f"{namespace}ul"
        element.attrib.clear()


def _read_style(element: etree._Element, styles: Mapping[str, str]) -> str:
    css = _STYLE.search(element.get("style", "")[:_MAX_STYLE])
    by_class = next((styles[name] for name in element.get("class", "").split() if name in styles), "")
    return css[1].lower() if css else element.get("type", "") or by_class


def _whole_number(text: str, default: int) -> int:
    return int(text) if text.strip().lstrip("-").isdecimal() and len(text) < _MAX_DIGITS else default
