"""The numbers of lists and headings of a Word document (ECMA-376, 17.9)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from lxml import etree

from .labels import MAX_LEVELS, Counter, Label, Level
from .typed_labels import take_typed_label

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_OFF = ("0", "false", "off", "none")
_MAX_BASES, _MAX_LINKS = 20, 5
_MAX_TEXT_CHARACTERS = 60
# xberg takes items for those of a bulleted list if their number is not defined.
_FIRST_UNDEFINED = 1_000_000


@dataclass(frozen=True, slots=True)
class _List:
    """A list: the definition whose counter it shares, its levels, and at which of them it starts again."""

    definition: str
    levels: tuple[Level, ...]
    restarts: tuple[int, ...]


class _Lists:
    """The definitions of the lists of a document, in the part `word/numbering.xml`."""

    def __init__(self, numbering: etree._Element | None, styles: Mapping[str, etree._Element]) -> None:
        parts = [] if numbering is None else list(numbering)
        self._definitions = {
            part.get(f"{_WORD}abstractNumId", ""): part for part in parts if part.tag == f"{_WORD}abstractNum"
        }
        self._numbers = {part.get(f"{_WORD}numId", ""): part for part in parts if part.tag == f"{_WORD}num"}
        self._styles = styles
        self._known: dict[str, _List | None] = {}

    def find(self, number: str) -> _List | None:
        """Return the list with a number; None if it is not defined."""
        if number not in self._known:
            self._known[number] = self._read(number)
        return self._known[number]

    def level_of_style(self, number: str, style: str) -> int:
        """Return the level that is for the paragraphs of a style; 0 if none is."""
        for element in self._elements(number):
            if _value(element, "pStyle") == style:
                return _level(element.get(f"{_WORD}ilvl", ""))
        return 0

    def _elements(self, number: str) -> list[etree._Element]:
        definition = self._definitions.get(self._definition(number))
        return [] if definition is None else definition.findall(f"{_WORD}lvl")

    def _definition(self, number: str) -> str:
        """Return the definition of a list; a list may be that of a style."""
        for _ in range(_MAX_LINKS):
            element = self._numbers.get(number)
            name = "" if element is None else _value(element, "abstractNumId")
            definition = self._definitions.get(name)
            style = "" if definition is None else _value(definition, "numStyleLink")
            if not style:
                return name
            number = _value(self._styles.get(style), f"pPr/{_WORD}numPr/{_WORD}numId")
        return ""

    def _read(self, number: str) -> _List | None:
        element, definition = self._numbers.get(number), self._definition(number)
        if element is None or definition not in self._definitions:
            return None
        levels, restarts = [Level()] * MAX_LEVELS, list[int]()
        for part in self._elements(number):
            levels[_level(part.get(f"{_WORD}ilvl", ""))] = _read_level(part)
        for override in element.findall(f"{_WORD}lvlOverride"):
            level = _level(override.get(f"{_WORD}ilvl", ""))
            if (part := override.find(f"{_WORD}lvl")) is not None:
                levels[level] = _read_level(part)
            if start := _value(override, "startOverride"):
                levels[level] = replace(levels[level], start=_number(start))
                restarts.append(level)
        return _List(definition, tuple(levels), tuple(restarts))


class WordNumbers:
    """Counts the paragraphs of a document."""

    def __init__(self, styles: etree._Element | None, numbering: etree._Element | None) -> None:
        """Read the definitions.

        Args:
            styles: The part `word/styles.xml`, if there is one.
            numbering: The part `word/numbering.xml`, if there is one.
        """
        elements = [] if styles is None else list(styles.iter(f"{_WORD}style"))
        self._styles = {style.get(f"{_WORD}styleId", ""): style for style in elements}
        self._lists = _Lists(numbering, self._styles)
        self._counters: dict[str, Counter] = {}
        self._started = set[str]()
        language = (
            None if styles is None else styles.find(f"{_WORD}docDefaults/{_WORD}rPrDefault/{_WORD}rPr/{_WORD}lang")
        )
        self._lang = "" if language is None else language.get(f"{_WORD}val", "")

    def labels(self, root: etree._Element) -> dict[etree._Element, Label]:
        """Return the labels of numbered paragraphs, and of items with bullets; empty ones of items without a label.

        Args:
            root: The part `word/document.xml`.
        """
        labels = {}
        for paragraph in root.iter(f"{_WORD}p"):
            number, level = self._reference(paragraph)
            numbered_list = self._lists.find(number) if number else None
            if numbered_list and not _is_removed(paragraph):
                labels[paragraph] = take_typed_label(paragraph, self._count(numbered_list, number, level))
        return labels

    def _count(self, numbered_list: _List, number: str, level: int) -> Label:
        counter = self._counters.setdefault(numbered_list.definition, Counter())
        if number not in self._started:
            self._started.add(number)
            for restarted in numbered_list.restarts:
                # A number above the paragraph's own is that of a paragraph before it.
                counter.restart(restarted, numbered_list.levels[restarted].start if restarted < level else None)
        counter.count(level, numbered_list.levels)
        of_level = numbered_list.levels[level]
        text = "" if of_level.is_bullet else counter.label(level, numbered_list.levels, self._lang)
        return Label(text, level, f"{_FIRST_UNDEFINED + _number(number)}", is_bullet=of_level.is_bullet)

    def _reference(self, paragraph: etree._Element) -> tuple[str, int]:
        """Return the number of the list that a paragraph belongs to, and its level; an empty one if it has none."""
        style = _value(paragraph, f"pPr/{_WORD}pStyle")
        number, level = _value(paragraph, _NUMBER), _value(paragraph, _LEVEL)
        for name, base in self._bases(style):
            if number and level:
                break
            base_number, base_level = _value(base, _NUMBER), _value(base, _LEVEL)
            if not number and base_number:
                number = base_number
                level = level or base_level or str(self._lists.level_of_style(number, name))
        return ("" if number == "0" else number), _level(level)

    def _bases(self, name: str) -> Iterator[tuple[str, etree._Element]]:
        """Yield a style and those that it inherits from, with their names."""
        for _ in range(_MAX_BASES):
            if (style := self._styles.get(name)) is None:
                return
            yield name, style
            name = _value(style, "basedOn")


_NUMBER, _LEVEL = f"pPr/{_WORD}numPr/{_WORD}numId", f"pPr/{_WORD}numPr/{_WORD}ilvl"


def _read_level(element: etree._Element) -> Level:
    hidden = element.find(f"{_WORD}rPr/{_WORD}vanish")
    is_hidden = hidden is not None and hidden.get(f"{_WORD}val", "1") not in _OFF
    legal = element.find(f"{_WORD}isLgl")
    return Level(
        # Other formats are in an alternative for newer programs.
        number_format=_value(element, "numFmt") or "decimal",
        text="" if is_hidden else _value(element, "lvlText")[:_MAX_TEXT_CHARACTERS],
        start=_number(_value(element, "start") or "0"),
        restart=_number(_value(element, "lvlRestart") or str(MAX_LEVELS)),
        is_legal=legal is not None and legal.get(f"{_WORD}val", "1") not in _OFF,
    )


def _is_removed(paragraph: etree._Element) -> bool:
    """Return whether a paragraph was deleted or is hidden: then it has no text, and its end is marked like that."""
    marks = paragraph.find(f"{_WORD}pPr/{_WORD}rPr")
    names = () if marks is None else [child.tag for child in marks]
    is_marked = any(f"{_WORD}{name}" in names for name in ("del", "moveFrom", "vanish"))
    return is_marked and not "".join(text.text or "" for text in paragraph.iter(f"{_WORD}t")).strip()


def _value(element: etree._Element | None, path: str) -> str:
    child = None if element is None else element.find(f"{_WORD}{path}")
    return "" if child is None else child.get(f"{_WORD}val", "")


def _number(text: str) -> int:
    """Return a number; 0 if it is none, or too large to be one."""
    return int(text) if text.isdecimal() and len(text) < 8 else 0


def _level(text: str) -> int:
    return min(_number(text), MAX_LEVELS - 1)
