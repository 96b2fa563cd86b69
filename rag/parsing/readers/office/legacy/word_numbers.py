"""The numbers of lists and headings of a Word document of Office 97 to 2003 (MS-DOC, 2.9.131 and 2.9.150)."""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rag.parsing.readers.office.numbering.labels import MAX_LEVELS, Counter, Label, Level

from .word_paragraphs import LegacyDocument, LegacyParagraph

# Which structures of the table stream have the definitions of lists, and the lists that use them.
_DEFINITIONS, _LISTS = 73, 74
_DEFINITION_BYTES, _LIST_BYTES, _LEVEL_BYTES, _LEVELS = 28, 16, 28, 9
_MAX_LISTS = 5_000
# How numbers are written, by their code; others are written in digits.
_FORMATS = {
    **{1: "upperRoman", 2: "lowerRoman", 3: "upperLetter", 4: "lowerLetter", 5: "ordinal", 6: "cardinalText"},
    **{7: "ordinalText", 22: "decimalZero", 23: "bullet", 255: "none"},
}
_IS_SIMPLE, _IS_LEGAL, _NO_RESTART, _HAS_START, _HAS_FORMAT = 1, 4, 8, 0x10, 0x20


@dataclass(frozen=True, slots=True)
class _List:
    definition: int
    levels: tuple[Level, ...]
    restarts: tuple[int, ...]


def read_labels(document: LegacyDocument, paragraphs: Sequence[LegacyParagraph]) -> list[Label | None]:
    """Return the label of each paragraph; None for those that are in no list."""
    lists, counters, started = _read_lists(document), dict[int, Counter](), set[int]()
    labels: list[Label | None] = []
    for paragraph in paragraphs:
        number = paragraph.properties.in_list or 0
        if not 0 < number <= len(lists) or not paragraph.text:
            labels.append(None)
            continue
        of_list, level = lists[number - 1], min(paragraph.properties.level or 0, MAX_LEVELS - 1)
        counter = counters.setdefault(of_list.definition, Counter())
        if number not in started:
            started.add(number)
            for restarted in of_list.restarts:
                counter.restart(restarted, of_list.levels[restarted].start if restarted < level else None)
        counter.count(level, of_list.levels)
        is_bullet = of_list.levels[level].is_bullet
        text = "" if is_bullet else counter.label(level, of_list.levels, "")
        labels.append(Label(text, level, str(number), is_bullet=is_bullet))
    return labels


def _read_lists(document: LegacyDocument) -> list[_List]:
    start, size = document.place(_LISTS)
    if not size:
        return []
    table, definitions = document.table, dict(_read_definitions(document))
    count = min(struct.unpack_from("<I", table, start)[0], _MAX_LISTS)
    place, lists = start + 4 + _LIST_BYTES * count, list[_List]()
    for number in range(count):
        (definition,) = struct.unpack_from("<i", table, start + 4 + _LIST_BYTES * number)
        changes = table[start + 4 + _LIST_BYTES * number + 12]
        levels, restarts = list(definitions.get(definition, [Level()] * MAX_LEVELS)), list[int]()
        place += 4
        for _ in range(changes):
            first, flags = struct.unpack_from("<iI", table, place)
            place, level = place + 8, min(flags & 0xF, MAX_LEVELS - 1)
            if flags & _HAS_FORMAT:
                levels[level], place = _read_level(table, place)
            if flags & _HAS_START:
                start_at = levels[level].start if flags & _HAS_FORMAT else first
                levels[level] = replace(levels[level], start=start_at)
                restarts.append(level)
        lists.append(_List(definition, tuple(levels), tuple(restarts)))
    return lists


def _read_definitions(document: LegacyDocument) -> Iterator[tuple[int, list[Level]]]:
    """Yield the number of each definition of a list, and its levels."""
    start, size = document.place(_DEFINITIONS)
    if not size:
        return
    table = document.table
    count = min(struct.unpack_from("<H", table, start)[0], _MAX_LISTS)
    place = start + 2 + _DEFINITION_BYTES * count
    for number in range(count):
        at = start + 2 + _DEFINITION_BYTES * number
        levels = [Level()] * MAX_LEVELS
        for level in range(1 if table[at + 26] & _IS_SIMPLE else _LEVELS):
            levels[level], place = _read_level(table, place)
        yield struct.unpack_from("<i", table, at)[0], levels


def _read_level(table: bytes, place: int) -> tuple[Level, int]:
    """Return a level, and where the one behind it begins."""
    start, number_format, flags = struct.unpack_from("<iBB", table, place)
    text_at = place + _LEVEL_BYTES + table[place + 24] + table[place + 25]
    (length,) = struct.unpack_from("<H", table, text_at)
    end = text_at + 2 + 2 * length
    text = table[text_at + 2 : end].decode("utf-16-le", "replace")
    level = Level(
        number_format=_FORMATS.get(number_format, "decimal"),
        text="".join(f"%{ord(sign) + 1}" if ord(sign) < _LEVELS else sign for sign in text),
        start=start,
        restart=table[place + 26] if flags & _NO_RESTART else MAX_LEVELS,
        is_legal=bool(flags & _IS_LEGAL),
    )
    return level, end
