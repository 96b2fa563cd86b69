"""Which paragraphs of a text document are headings, by their type: many people format headings in no other way."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

MAX_LEVEL = 6
_MAX_CHARACTERS = 120
_NO_TITLE_ENDINGS = (".", ",", ";", "!", "。", "，", "；", "！")
# Blanks of a form, and what is between a title of a table of contents and its page.
_BLANK = re.compile(r"_{3}|\.{4}|…{2}|\t")
_LETTERS = re.compile(r"[^\W\d_].*[^\W\d_]", re.S)
_NUMBERED = re.compile(r"(?:§ ?)?\d{1,2}(?:\.\d{1,2}){0,3}[.)]? |§ ?\d")
_WORDS, _DIGIT, _MIN_WORDS = re.compile(r"[^\W\d_]{2,}"), re.compile(r"\d"), 3
# The beginnings of parts of statutes, which are headings if several have a style, or stand alone above text.
_PART = re.compile(
    r"(第)[一二三四五六七八九十百零〇\d]{1,5}([章節节編编部條条])|"
    r"(§|(?:Article|Artikel|Artículo|Artigo|Articolo|Art(?=\.)|Chapter|Kapitel|Chapitre|Capítulo|Capitolo|Rozdział|Глава|"
    r"Section|Abschnitt|Sección|Раздел|Статья|Titre|Título|Titolo)\b)"
    r"\.? ?(?:\d{1,3}|[IVX]{1,6})(?!\w)",
    re.I,
)
_MIN_STYLED, _MIN_ALONE = 2, 3
# The page of an entry of a table of contents.
_PAGE = re.compile(r"\s\d{1,3}\s*\Z")
# Relative to the size of the text. Type of such a size is that of headings if it has at most this share of the letters.
_LARGER, _MUCH_LARGER, _MAX_SHARE = 1.1, 1.4, 0.2
# Titles in a row: more are an address, the fields of a form or emphasised text.
_MAX_ROW = 2
# A line that is repeated more often is no heading, but for example the name of a speaker.
_MAX_REPEATED = 3


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph with letters.

    Attributes:
        text: Its text.
        is_bold: Whether all of it is bold.
        is_underlined: Whether all of it is underlined.
        size: The size of its type, in any unit.
        level: The level of its heading style; 0 for text.
        may_be_heading: Whether it is a paragraph of its own, neither in a table nor an item of a list.
        is_centered: Whether it is in the middle of the page.
        item_of: The list and the level that it is a numbered item of; empty for others.
    """

    text: str
    is_bold: bool
    is_underlined: bool
    size: float
    level: int
    may_be_heading: bool
    is_centered: bool = False
    item_of: str = ""


def choose_headings(paragraphs: Sequence[Paragraph]) -> dict[int, int]:
    """Return the levels of the paragraphs that are headings by their type, by their places in the document."""
    sizes = Counter[float]()
    for paragraph in paragraphs:
        sizes[paragraph.size] += len(paragraph.text)
    text_size, letters = sizes.most_common(1)[0] if sizes else (0.0, 0)
    large = {size for size, count in sizes.items() if size >= _LARGER * text_size and count <= _MAX_SHARE * letters}
    bold = sum(len(paragraph.text) for paragraph in paragraphs if paragraph.is_bold)
    is_bold_text = bold * 2 > sum(len(paragraph.text) for paragraph in paragraphs)
    candidates = [
        place
        for place, paragraph in enumerate(paragraphs[:-1])
        if _is_title(paragraph)
        # An item beside another one of its list is none.
        and not (paragraph.item_of and paragraph.item_of in _lists_beside(paragraphs, place))
        and ((paragraph.is_bold and not is_bold_text) or paragraph.is_underlined or paragraph.size in large)
    ]
    if paragraphs and _is_title_in_middle(paragraphs):
        candidates = sorted({0, *candidates})
    repeated = Counter(paragraphs[place].text for place in candidates)
    chosen = [
        place for place in _first_of_rows(paragraphs, candidates) if repeated[paragraphs[place].text] <= _MAX_REPEATED
    ]
    outer = max((paragraph.level for paragraph in paragraphs), default=0)
    ranks = {place: _rank(place, paragraphs[place].size, large, text_size) for place in chosen}
    return {
        **{place: min(outer + 2, MAX_LEVEL) for place in _parts_above_text(paragraphs)},
        **{place: min(outer + rank, MAX_LEVEL) for place, rank in ranks.items()},
        **_of_same_kind(paragraphs),
    }


def _is_title_in_middle(paragraphs: Sequence[Paragraph]) -> bool:
    """Return whether the first paragraph is a title in the middle of the page, above others that are not there."""
    centered = sum(len(paragraph.text) for paragraph in paragraphs if paragraph.is_centered)
    is_above = centered * 2 < sum(len(paragraph.text) for paragraph in paragraphs)
    return is_above and paragraphs[0].is_centered and _is_title(paragraphs[0])


def _lists_beside(paragraphs: Sequence[Paragraph], place: int) -> set[str]:
    return {paragraph.item_of for paragraph in (*paragraphs[max(place - 1, 0) : place], paragraphs[place + 1])}


def _of_same_kind(paragraphs: Sequence[Paragraph]) -> dict[int, int]:
    """Return the levels of paragraphs that begin as several headings with a style do: "Chapter 1", "第一章"."""
    levels: dict[str, list[int]] = {}
    for paragraph in paragraphs:
        if paragraph.level and (kind := _kind(paragraph.text)):
            levels.setdefault(kind, []).append(paragraph.level)
    known = {kind: same[0] for kind, same in levels.items() if len(same) >= _MIN_STYLED and len(set(same)) == 1}
    return {
        place: known[kind]
        for place, paragraph in enumerate(paragraphs)
        if (kind := _kind(paragraph.text)) in known and _is_title(paragraph)
    }


def _parts_above_text(paragraphs: Sequence[Paragraph]) -> list[int]:
    """Return the places of titles such as "Article 3: Fees", if there are several of a kind, each between other text.

    In a table of contents they are in a row.
    """
    kinds = [_kind(paragraph.text) if _is_title_of_part(paragraph) else "" for paragraph in paragraphs]
    alone = [
        place
        for place, kind in enumerate(kinds[:-1])
        if kind
        and kind != kinds[place + 1]
        and (not place or kind != kinds[place - 1])
        # The title of a number may be the next line.
        and not (_is_number(paragraphs[place].text) and _is_title(paragraphs[place + 1]))
    ]
    texts: dict[str, set[str]] = {}
    for place in alone:
        texts.setdefault(kinds[place], set()).add(paragraphs[place].text)
    return [place for place in alone if len(texts[kinds[place]]) >= _MIN_ALONE]


def _is_title_of_part(paragraph: Paragraph) -> bool:
    text = paragraph.text.strip()
    match = _PART.match(text)
    rest = text[match.end() :].lstrip(" .:–-") if match else ""
    if not match or _PAGE.search(rest) or rest.endswith(":"):
        return False
    return _is_title(replace(paragraph, text=rest)) if rest else paragraph.may_be_heading and not paragraph.level


def _is_number(text: str) -> bool:
    return not _LETTERS.search(text)


def _kind(text: str) -> str:
    match = _PART.match(text.lstrip())
    return "".join(part or "" for part in match.groups()).casefold() if match else ""


def _is_title(paragraph: Paragraph) -> bool:
    text = paragraph.text.strip()
    is_short = 0 < len(text) <= _MAX_CHARACTERS and not paragraph.level and paragraph.may_be_heading
    if not is_short or text.endswith(_NO_TITLE_ENDINGS) or _BLANK.search(text) or not _LETTERS.search(text):
        return False
    part = _PART.match(text)
    _, _, rest = text[part.end() if part else 0 :].strip(": ").partition(":")
    # A field such as "Start: 19:00", but not a title such as "Report: How we fed the bees".
    is_subtitled = paragraph.is_centered and len(_WORDS.findall(rest)) >= _MIN_WORDS and not _DIGIT.search(rest)
    return not rest or is_subtitled


def _first_of_rows(paragraphs: Sequence[Paragraph], candidates: Sequence[int]) -> Iterator[int]:
    """Yield the candidates, but of more than two of a type on each other only the first and those with a number."""
    rows: list[list[int]] = []
    for place in candidates:
        if rows and place == rows[-1][-1] + 1 and _is_same_type(paragraphs[place - 1], paragraphs[place]):
            rows[-1].append(place)
        else:
            rows.append([place])
    for row in rows:
        is_short = len(row) <= _MAX_ROW
        yield from (place for place in row if is_short or place == row[0] or _NUMBERED.match(paragraphs[place].text))


def _is_same_type(above: Paragraph, paragraph: Paragraph) -> bool:
    return (above.is_bold, above.is_underlined, above.size) == (
        paragraph.is_bold,
        paragraph.is_underlined,
        paragraph.size,
    )


def _rank(place: int, size: float, large: Set[float], text_size: float) -> int:
    """Return 1 for the title of a document or one in very large type, 2 for large type, 3 for others."""
    if place == 0 or (size in large and size >= _MUCH_LARGER * text_size):
        return 1
    return 2 if size in large else 3
