"""The numbers of lists and headings of an OpenDocument text (ODF 1.3, parts 3.4.1, 5.3 and 16.30)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from lxml import etree

from .labels import MAX_LEVELS, Counter, Label, Level

_TEXT, _STYLE = (f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}" for name in ("text", "style"))
_LIBRE_OFFICE = "{urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0}"
_ID = "{http://www.w3.org/XML/1998/namespace}id"
_FORMATS = {
    "1": "decimal",
    "a": "lowerLetter",
    "A": "upperLetter",
    "i": "lowerRoman",
    "I": "upperRoman",
    "①, ②, ③, ...": "decimalEnclosedCircle",
    "一, 二, 三, ...": "chineseCountingThousand",
    "甲, 乙, 丙, ...": "ideographTraditional",
    "ア, イ, ウ, ...": "aiueo",
    "イ, ロ, ハ, ...": "iroha",
    "가, 나, 다, ...": "ganada",
    "а, б, .., аа, аб, ...": "russianLower",
    "А, Б, .., Аа, Аб, ...": "russianUpper",
    "α, β, γ, ...": "lowerGreek",
    "Α, Β, Γ, ...": "upperGreek",
    "1st, 2nd, 3rd, ...": "ordinal",
}
_PLACE = re.compile(r"%(\d{1,2})%")
_MAX_CHARACTERS, _MAX_DIGITS = 60, 8
_MAX_BASES = 20


class OpenDocumentNumbers:
    """Counts the paragraphs of a document."""

    def __init__(self, parts: Iterable[etree._Element]) -> None:
        """Read the definitions.

        Args:
            parts: The parts `styles.xml` and `content.xml`, those of them that there are.
        """
        self._lists: dict[str, Sequence[Level]] = {}
        self._outline: Sequence[Level] = [Level()] * MAX_LEVELS
        self._styles: dict[str, etree._Element] = {}
        for part in parts:
            self._styles |= {style.get(f"{_STYLE}name", ""): style for style in part.iter(f"{_STYLE}style")}
            self._lists |= {
                style.get(f"{_STYLE}name", ""): _read_levels(style, _UNDEFINED)
                for style in part.iter(f"{_TEXT}list-style")
            }
            for style in part.iter(f"{_TEXT}outline-style"):
                self._outline = _read_levels(style, Level())
        self._outline_counter = Counter()
        self._counters: dict[str, Counter] = {}  # by the list's id, and of the last one of a style by its name

    def labels(self, root: etree._Element) -> dict[etree._Element, Label]:
        """Return the labels of the paragraphs of lists and of numbered headings; empty ones of others in lists.

        Args:
            root: The part `content.xml`.
        """
        labels = dict[etree._Element, Label]()
        for element in root.iter(f"{_TEXT}list", f"{_TEXT}h", f"{_TEXT}p", f"{_TEXT}numbered-paragraph"):
            if next(element.iterancestors(f"{_TEXT}list"), None) is not None:
                continue
            if element.tag == f"{_TEXT}list":
                labels |= self._label_list(element)
            elif element.tag == f"{_TEXT}h":
                if label := self._label_heading(element):
                    labels[element] = label
            elif element.tag == f"{_TEXT}numbered-paragraph":
                labels |= {part: Label(_stored(element) or _stored(part), 0) for part in element}
            elif stored := _stored(element):
                labels[element] = Label(stored, 0)
        return labels

    def _label_list(self, element: etree._Element) -> dict[etree._Element, Label]:
        name = element.get(f"{_TEXT}style-name", "")
        continued = element.get(f"{_TEXT}continue-list", "")
        if not continued and element.get(f"{_TEXT}continue-numbering") == "true":
            continued = f"style {name}"
        counter = (self._counters.get(continued) if continued else None) or Counter()
        self._counters[f"style {name}"] = self._counters[element.get(_ID, "")] = counter
        return dict(self._label_items(element, 0, name, counter))

    def _label_items(
        self, element: etree._Element, depth: int, name: str, counter: Counter
    ) -> Iterator[tuple[etree._Element, Label]]:
        name = element.get(f"{_TEXT}style-name", "") or name
        levels = self._lists.get(name) or _UNKNOWN
        level = min(depth, MAX_LEVELS - 1)
        for item in element:
            is_counted = item.tag != f"{_TEXT}list-item"
            for child in item:
                if child.tag == f"{_TEXT}list":
                    yield from self._label_items(child, depth + 1, name, counter)
                elif child.tag in (f"{_TEXT}p", f"{_TEXT}h"):
                    yield child, Label("", depth) if is_counted else self._count(item, child, level, levels, counter)
                    is_counted = True

    def _count(
        self,
        item: etree._Element,
        element: etree._Element,
        level: int,
        levels: Sequence[Level],
        counter: Counter,
    ) -> Label:
        start = item.get(f"{_TEXT}start-value", "")
        of_level = levels[level]
        if start.isdecimal() and len(start) < _MAX_DIGITS:
            counter.restart(level)
            levels = [replace(shown, start=int(start)) if shown is of_level else shown for shown in levels]
        counter.count(level, levels)
        text = "" if of_level.is_bullet else counter.label(level, levels, "")
        return Label(_stored(item) or _stored(element) or text, level, is_bullet=of_level.is_bullet)

    def _label_heading(self, heading: etree._Element) -> Label | None:
        outline_level = heading.get(f"{_TEXT}outline-level", "1")
        level = min(max(int(outline_level) if outline_level.isdecimal() else 1, 1), MAX_LEVELS) - 1
        if heading.get(f"{_TEXT}is-list-header") == "true" or self._has_no_list(heading.get(f"{_TEXT}style-name", "")):
            return None
        if heading.get(f"{_TEXT}restart-numbering") == "true":
            self._outline_counter.restart(level)
        self._outline_counter.count(level, self._outline)
        text = _stored(heading) or self._outline_counter.label(level, self._outline, "")
        return Label(text, level) if text else None

    def _has_no_list(self, name: str) -> bool:
        """Return whether a style says that its headings have no number."""
        for _ in range(_MAX_BASES):
            style = self._styles.get(name)
            if style is None:
                return False
            if (list_name := style.get(f"{_STYLE}list-style-name")) is not None:
                return not list_name
            name = style.get(f"{_STYLE}parent-style-name", "")
        return False


def _read_levels(style: Iterable[etree._Element], undefined: Level) -> tuple[Level, ...]:
    levels = [replace(undefined, text=undefined.text.format(number)) for number in range(1, MAX_LEVELS + 1)]
    for element in style:
        number = element.get(f"{_TEXT}level", "")
        if number.isdecimal() and 1 <= int(number[:3]) <= MAX_LEVELS:
            levels[int(number) - 1] = _read_level(element, int(number))
    return tuple(levels)


def _read_level(element: etree._Element, number: int) -> Level:
    if element.tag in (f"{_TEXT}list-level-style-bullet", f"{_TEXT}list-level-style-image"):
        return Level("bullet")
    number_format = element.get(f"{_STYLE}num-format", "")
    start = element.get(f"{_TEXT}start-value", "")
    pattern = element.get(f"{_STYLE}num-list-format") or element.get(f"{_LIBRE_OFFICE}num-list-format")
    if pattern is None:
        shown = element.get(f"{_TEXT}display-levels", "")
        count = min(int(shown), number) if shown.isdecimal() and len(shown) < _MAX_DIGITS and int(shown) else 1
        places = ".".join(f"%{place}" for place in range(number - count + 1, number + 1)) if number_format else ""
        pattern = element.get(f"{_STYLE}num-prefix", "") + places + element.get(f"{_STYLE}num-suffix", "")
    text = _PLACE.sub(r"%\1", pattern)[:_MAX_CHARACTERS]
    return Level(
        _FORMATS.get(number_format, "decimal") if number_format else "none",
        # A suffix alone is what is left of a number that is not shown.
        text if any(map(str.isalnum, text)) else "",
        start=int(start) if start.isdecimal() and len(start) < _MAX_DIGITS else 1,
    )


def _stored(element: etree._Element) -> str:
    """Return the number that a program stored with a paragraph or item; empty if there is none."""
    number = element.find(f"{_TEXT}number")
    return "" if number is None else " ".join("".join(map(str, number.itertext())).split())[:_MAX_CHARACTERS]


# What LibreOffice shows for a level that a list does not define, and for a list without a style.
_UNDEFINED = Level("decimal", "%{}.")
_UNKNOWN = (Level("bullet"),) * MAX_LEVELS
