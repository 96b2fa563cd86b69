"""The numbers of the paragraphs of slides (DrawingML)."""

from collections.abc import Iterator

from lxml import etree

from .write_number import write_number

_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_FORMATS = {
    "alphaLc": "lowerLetter",
    "alphaUc": "upperLetter",
    "romanLc": "lowerRoman",
    "romanUc": "upperRoman",
    "circleNumDbPlain": "decimalEnclosedCircle",
    "ea1Jpn": "japaneseCounting",
    "ea1Chs": "chineseCounting",
    "ea1Cht": "chineseCounting",
}
# What is around the number, by the end of the name of a scheme.
_SIGNS = {"ParenBoth": "({})", "ParenR": "{})", "Period": "{}.", "Minus": "-{}-", "Plain": "{}"}
_MAX_LEVEL, _MAX_DIGITS = 8, 6


def number_paragraphs(shape: etree._Element) -> Iterator[tuple[etree._Element, str]]:
    """Yield the paragraphs of a shape with their numbers; empty for others.

    A number counts the paragraphs of its level and scheme that no other one of the level, or a higher one, interrupts.
    """
    counts: dict[int, tuple[str, int]] = {}
    for paragraph in shape.iter(f"{_DRAWING}p"):
        properties = paragraph.find(f"{_DRAWING}pPr")
        numbering = None if properties is None else properties.find(f"{_DRAWING}buAutoNum")
        level = 0 if properties is None else _number(properties.get("lvl", ""), 0)
        if not any(text.text for text in paragraph.iter(f"{_DRAWING}t")):
            continue
        counts = {known: count for known, count in counts.items() if known <= level}
        if numbering is None:
            counts.pop(level, None)
            yield paragraph, ""
            continue
        scheme = numbering.get("type", "arabicPeriod")
        start = _number(numbering.get("startAt", ""), 1)
        known_scheme, last = counts.get(level, ("", 0))
        number = last + 1 if known_scheme == f"{scheme} {start}" else start
        counts[level] = (f"{scheme} {start}", number)
        yield paragraph, _write(number, scheme)


def _write(number: int, scheme: str) -> str:
    ending = next((ending for ending in _SIGNS if scheme.endswith(ending)), "")
    name = scheme.removesuffix(ending)
    number_format = _FORMATS.get(scheme) or _FORMATS.get(name, "decimal")
    return _SIGNS.get(ending, "{}.").format(write_number(number, number_format))


def _number(text: str, default: int) -> int:
    return int(text) if text.isdecimal() and len(text) < _MAX_DIGITS else default
