"""Documents as the Markdown that xberg extracts: pages and titles, without what only serves rendering."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from rag.parsing import formats
from rag.parsing.parse_markdown import parse_markdown
from rag.parsing.sandbox.limits import Limits
from rag.types import Page, ParsedDocument

from .xberg_adapter import extract

_SHEETS = {formats.XLSX, formats.XLSB, formats.XLS, formats.ODS}
# Default titles that programs write into files without a title, in the languages of their users, and names of files.
_DEFAULT_TITLE = re.compile(
    r"untitled(?:[ -]?\d{1,3})?|\(anonymous\)|(?:ohne titel|unbenannt|sans titre|sin título|senza titolo|sem título|"
    r"zonder titel|bez tytułu|bez názvu|без имени|без названия|无标题|無題|名称未設定)(?:[ -]?\d{1,3})?|"
    r"(?:document|dokument|documento|документ|文档|文書|presentation|präsentation|présentation|presentación|presentazione|"
    r"презентация|演示文稿|プレゼンテーション|book|mappe|classeur|libro|cartel|книга|工作簿) ?\d{1,3}|document|"
    r"(?:slide|folie|diapositive|diapositiva|dia|слайд|幻灯片|スライド|slajd|layout) ?\d{1,3}|"
    r"\(?microsoft (?:office )?(?:word|powerpoint|excel|publisher)\b.*|"
    r"powerpoint[ -](?:presentation|präsentation|presentatie|presentasjon|bemutató|プレゼンテーション|演示文稿)|"
    r"(?:présentation|presentación de|apresentação do|presentazione standard di|презентация|prezentacja programu|"
    r"prezentace aplikace) (?:microsoft )?powerpoint|"
    r"(?:titel der präsentation|presentation title|title of (?:the )?presentation|titre de la présentation)|"
    r"adobe photoshop pdf|(?:https?://|file:|localhost\b)\S*|"
    r".*\.(?=\w{0,3}[a-z])\w{3,4}\)?|(?:pdf )?[\d./_ -]{6,}|[a-z]{0,5}_?[a-z]?\d{10,30}|"
    r".*\\'[0-9a-f]{2}.*|[ivxlcdm\d]{1,2}|[a-z]",
    re.I,
)
_BOLD_LINE = re.compile(r"(?<=\n\n)\*\*([^*\n]{2,120}?[^*\n.,;:!?])\*\*(?=[ \t]*\n\n)")
_BOLD_LINE_OR_LABEL = re.compile(r"(?<=\n\n)\*\*([^*\n]{2,120}?[^*\n.,;!?])\*\*(?=[ \t]*\n\n)")
_FENCE_LINE = re.compile(r"^(`{3,}|~{3,})(.*)$", re.M)
# References to pictures, which are not extracted.
_PICTURE = re.compile(r"!\[[^\[\]\n]*\]\([^()\n]*\)")
_CODE_SPAN = re.compile(r"(?<![\\`])(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")
_STRONG = re.compile(r"(?<!\\)(\*\*\*|\*\*)(?=\S)((?:\\.|[^*\\]|(?<!\*)\*(?!\*)){1,5000}?)(?<=\S)(?<!\\)\1")
# A sign between figures is that of a multiplication.
_EMPHASIS = re.compile(r"(?<![\\*])(?!(?<=\d)\*\d)\*(?=[^\s*])((?:\\.|[^*\\\n]){1,5000}?)(?<=\S)(?<!\\)\*(?!\*)")
_EMPHASISED_CODE = re.compile(r"(?<![\\*])(\*{1,3})(`[^`\n]{1,200}`)\1(?!\*)")
_LONE_MARKS = re.compile(r"^[ \t]*(?:[-+*][ \t]+)?\*\*[ \t]*$", re.M)
# `#` and `>` at the start of a line and `|` in a table stay escaped, because they would become syntax.
_ESCAPE = re.compile(r"(?m)(?<!^)\\([!-{}~])|^\\([!\"$-=?-{}~])")
_LIST_NUMBER = re.compile(r"^([ \t]*)[-+*][ \t]+(?=(?:-?\d{1,9}|[A-Za-z]|[ivx]{2,7}|[IVX]{2,7})\\?[.)][ \t])", re.M)
_RAISED = re.compile(r"(?<![\\^])\^([^\s^\[\]]{1,20})\^(?!\^)")
_LOWERED = re.compile(r"(?<![\\~])~([^\s~]{1,20})~(?!~)")
_NOTE, _DEFINED_NOTE = re.compile(r"\[\^(\d{1,9})\]"), re.compile(r"^\[\^(\d{1,9})\]:", re.M)
_LONE_NOTE = re.compile(r"^\[\^\d{1,9}\][ \t]*\n\s*\n", re.M)
# A page may end within a paragraph: in a line of text, without the end of a sentence, above one that goes on.
_MIN_DIVIDED_CHARACTERS = 40
_LINE_OF_TEXT = re.compile(r"(?![#|>]|`{3}|~{3})\S")
_SENTENCE_END = re.compile(r"[.!?:;…。！？؟|][\"'”’»)\]*_]*$")
_GOES_ON = re.compile(r"(?![^\W\d_][.)]\s)[^\W\d_]")
_LONG_WORD, _SHORT_NOUN = re.compile(r"[^\W\d_]{4,}"), re.compile(r"(?<=\s)[A-ZÄÖÜ][^\W\d_]{2}(?![^\W\d_])")
# What may be above the heading that is the title of a document, such as an address.
_MAX_CHARACTERS_ABOVE, _MAX_TITLE_CHARACTERS = 300, 200
# "§ 1 ", "2.1 ", "1. ", "IV. ": a number of the first heading is not part of the title.
_NUMBER = re.compile(r"\A(?:§ ?\d{1,3}|(?:\d{1,2}\.){1,4}\d{0,2}|\d{1,2}\)|(?:I|[IVX]{2,5})\.) +(?=\S)")
# The heading of a table of contents is not the title of the document.
_CONTENTS = re.compile(
    r"(?:table of )?contents|inhalt|inhaltsverzeichnis|(?:tabla de )?contenidos?|índice|indice|sommaire|sumário|"
    r"sommario|table des matières|inhoud|inhoudsopgave|spis treści|obsah|содержание|оглавление|зміст|目录|目次",
    re.I,
)
# A shorter text need not have a word of its title.
_MIN_CHARACTERS_WITH_TITLE = 1_000
_EMPTY_BULLET = re.compile(r"^([ \t]*[-+*])[ \t]*\n\s*\n(?=\S)", re.M)


def read(content: bytes, media_type: str, limits: Limits) -> ParsedDocument:
    """Read a file of one of the formats that xberg turns into one Markdown text."""
    extracted = extract(content, media_type, limits)
    text = remove_pictures(extracted.markdown).replace("\r", "")
    if media_type not in _SHEETS:  # the cells of a sheet have no formatting, but may contain its characters
        text = remove_unknown_notes(strip_formatting(join_scripts(text)))
    return with_title(parse_markdown(text.strip()), clean_title(extracted.title))


def join_pages(
    pages: Iterable[tuple[int, str]], title: str, *, preamble: str = "", may_divide: bool = False
) -> ParsedDocument:
    """Join the pages of a document to one text.

    Args:
        pages: The number and the Markdown of each page, in their order.
        title: The document's title, if it has one.
        preamble: The Markdown before the first page.
        may_divide: Whether a page may end within a paragraph, as those of a text do, but not slides.
    """
    text, starts = strip_formatting(preamble).strip(), list[Page]()
    for number, page in pages:
        if words := strip_formatting(page).strip():
            is_divided = may_divide and bool(starts) and _is_divided(text, words)
            text += "\n" if is_divided else "\n\n" if text else ""
            starts.append(Page(len(text), number))
            text += words
    return with_title(parse_markdown(text), title, tuple(starts))


def _is_divided(text: str, following: str) -> bool:
    """Return whether a paragraph at the end of a page goes on at the beginning of the following one."""
    last = text[text.rfind("\n") + 1 :]
    is_text = len(last) >= _MIN_DIVIDED_CHARACTERS and bool(_LINE_OF_TEXT.match(last))
    goes_on = following[0].islower() and bool(_GOES_ON.match(following))
    return is_text and goes_on and not _SENTENCE_END.search(last[-10:])


def with_title(parsed: ParsedDocument, title: str, pages: tuple[Page, ...] = ()) -> ParsedDocument:
    """Return the document with a title and the beginnings of its pages."""
    return ParsedDocument(parsed.text, parsed.is_markdown, parsed.headings, pages, title)


def with_chosen_title(parsed: ParsedDocument, *, min_characters: int = _MIN_CHARACTERS_WITH_TITLE) -> ParsedDocument:
    """Return the document with its first heading as its title if it has none, or that of another document.

    Many files are made from others, whose title they keep: no word of it is in the text.

    Args:
        parsed: The document.
        min_characters: A text with fewer characters need not have a word of its title.
    """
    if parsed.title and not is_of_another_document(parsed.title, parsed.text, min_characters=min_characters):
        return parsed
    headings = iter(parsed.headings)
    above = first = next(headings, None)
    if first and _CONTENTS.fullmatch(first.title.strip(" :")):
        first = next(headings, None)
    is_above_all = above and above.start <= _MAX_CHARACTERS_ABOVE
    title = clean_title(_NUMBER.sub("", first.title).rstrip(":").rstrip()) if first and is_above_all else ""
    return replace(parsed, title=title) if title else parsed


def is_of_another_document(title: str, text: str, *, min_characters: int = _MIN_CHARACTERS_WITH_TITLE) -> bool:
    """Return whether no word of a title is in a text, unless the text is short."""
    shown, text = title[:_MAX_TITLE_CHARACTERS], text.casefold()
    words = [word.casefold() for word in (*_LONG_WORD.findall(shown), *_SHORT_NOUN.findall(shown))]
    return len(text) >= min_characters and bool(words) and not any(word in text for word in words)


def clean_title(title: str) -> str:
    """Return the title, or an empty text if it is one that programs write by default."""
    return "" if _DEFAULT_TITLE.fullmatch(title) else title


def promote_bold_lines(markdown: str, *, with_labels: bool = False) -> str:
    """Turn paragraphs that are one bold line into headings: some programs format headings in no other way.

    Args:
        markdown: The text.
        with_labels: Whether the line may end with a colon.
    """
    padded = f"\n\n{markdown}\n\n"
    first = re.search(r"^#+ ", padded, re.M)

    def heading(match: re.Match[str]) -> str:
        if not re.search(r"[^\W\d_]", match[1]):  # numbers
            return match[0]
        is_title = not padded[: match.start()].strip() and not (first and first[0] == "# ")
        return f"{'#' if is_title else '##'} {match[1]}"

    return (_BOLD_LINE_OR_LABEL if with_labels else _BOLD_LINE).sub(heading, padded)


def strip_formatting(markdown: str) -> str:
    """Remove Markdown that only serves rendering: emphasis, escapes, bullets before numbers."""
    markdown = markdown.replace("\r\n", "\n").replace("\r", "\n")
    parts, end = [], 0
    for first, last in _find_code_blocks(markdown):
        parts += [_strip_outside_code(markdown[end:first]), markdown[first:last]]
        end = last
    return "".join([*parts, _strip_outside_code(markdown[end:])])


def remove_pictures(markdown: str) -> str:
    """Remove references to pictures."""
    return _PICTURE.sub("", markdown)


def join_scripts(markdown: str) -> str:
    """Remove the marks of raised and lowered letters: "10^-3^", "H~2~O"."""
    return _LOWERED.sub(r"\1", _RAISED.sub(r"\1", markdown))


def remove_unknown_notes(markdown: str) -> str:
    """Remove references to notes that have another number, which xberg adds, and those that are a paragraph."""
    defined = set(_DEFINED_NOTE.findall(markdown))
    return _NOTE.sub(lambda match: match[0] if match[1] in defined else "", _LONE_NOTE.sub("", markdown))


def _find_code_blocks(markdown: str) -> Iterator[tuple[int, int]]:
    """Yield where each fenced block begins and ends. A fence that is never closed is text."""
    lines = list(_FENCE_LINE.finditer(markdown))
    closing_lines = defaultdict[str, list[int]](list)  # fence → the lines that consist of it, ascending
    for index, line in enumerate(lines):
        if not line[2].strip():
            closing_lines[line[1]].append(index)
    index = 0
    while index < len(lines):
        candidates = closing_lines[lines[index][1]]
        position = bisect_right(candidates, index)
        if position < len(candidates):
            yield lines[index].start(), lines[candidates[position]].end()
            index = candidates[position]
        index += 1


def _strip_outside_code(markdown: str) -> str:
    markdown = _EMPHASISED_CODE.sub(r"\2", markdown)
    parts, end = [], 0
    for code in _CODE_SPAN.finditer(markdown):
        parts += [markdown[end : code.start()], code.group()]
        end = code.end()
    parts.append(markdown[end:])
    parts[::2] = [_strip_inline(part) for part in parts[::2]]
    return "".join(parts)


def _strip_inline(markdown: str) -> str:
    for pattern in (_STRONG, _STRONG, _EMPHASIS):
        markdown = pattern.sub(lambda match: match.group(match.lastindex or 0), markdown)
    markdown = _LONE_MARKS.sub("", markdown)
    markdown = _EMPTY_BULLET.sub(r"\1 ", markdown)
    markdown = _LIST_NUMBER.sub(r"\1", markdown)
    return _ESCAPE.sub(lambda match: match.group(1) or match.group(2), markdown)
