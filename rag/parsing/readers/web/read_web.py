"""Web pages: the main content with headings and tables, without navigation and scripts."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import lxml.html
import trafilatura
from lxml import etree

from rag.errors import ParseFailed
from rag.parsing import formats
from rag.parsing.encodings.decode_text import decode_text
from rag.parsing.parse_markdown import parse_markdown
from rag.parsing.readers.extracted_markdown import strip_formatting, with_chosen_title
from rag.parsing.readers.office.headings import html_headings
from rag.parsing.readers.office.numbering import html_lists
from rag.parsing.readers.xberg_adapter import extract
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

from . import boilerplate, paragraphs, questions

_MAIN = "//main | //*[@role='main'] | //article[not(//main) and not(//*[@role='main']) and not(ancestor::article)]"
_LAYOUT_TABLES = (
    "//table[@role='presentation' or .//table or .//h1 or .//h2 or .//h3 or not(.//tr[count(td | th) > 1])]"
)
# Cells with several paragraphs, and how many words a text has that is no cell of a table.
# `//table//td` would visit the cells of nested tables once for each table around them.
_LONG_CELLS, _MIN_WORDS_OF_TEXT = "//td[count(p | div | center | ul | ol | br) >= 3]", 100
_CELL_TAGS = ("td", "th")
# Browsers leave such tags out, xberg their text.
_CELLS_WITHOUT_TABLE = " | ".join(f"//{tag}[not(ancestor::table)]" for tag in ("tbody", *_CELL_TAGS))
# Office programs write numbered headings as items, with the lists of lower headings in them.
_LISTS_OF_HEADINGS = "//ol[li[h1 or h2 or h3]] | //ol[li[h1 or h2 or h3]]/li"
_HEADINGS = " or ".join(f"self::h{level}" for level in range(1, 7))
_HEADINGS_AROUND_LISTS = f"//*[{_HEADINGS}][.//ul or .//ol or .//table]"
_HEADINGS_AROUND_HEADINGS = f"//*[{_HEADINGS}][.//*[{_HEADINGS}]]"
# What generators of sites read above a page: names and values between two lines.
_FRONT_MATTER = re.compile(r"\A\s{0,20}---[ \t]{0,20}\r?\n(?:(?!---)[^\n]{0,500}\n){0,50}---[ \t]{0,20}\r?\n")
# Browsers show it as a line break, lxml leaves it out.
_LINE_BREAK = re.compile(r"</br>", re.I)
# What editors put in by default.
_NO_TITLE = re.compile(r"untitled(?: document| page)?(?: \d{1,3})?|new page(?: \d{1,3})?", re.I)
_TEXT_TAGS = ("p", "h1", "h2", "h3", "h4", "h5", "h6", "li", "td", "th")
_TITLE_CLASSES = frozenset({"title", "MsoTitle"})
# trafilatura loses the space before emphasis after a line break, and sometimes the text after it.
_INLINE_TAGS = frozenset({"span", "sup", "sub", "font", "u", "time", "b", "strong", "i", "em", "big", "small"})
# Elements whose tags are removed have this name until all are removed together. One after the other, each copies the
# text before it: 20,000 words with a style of their own took a quarter of a minute.
_DISSOLVED = "ragsite-dissolved"
_ROW = re.compile(r"^\|", re.M)
_SPACE = re.compile(r"[ \t\r\n\f]+")
_WORD = re.compile(r"\w+")
# How many levels of headings, from the highest one of a page, its main text must have: widgets have lower ones.
_UPPER_LEVELS = 3
# If the main text has a smaller share of the page's words, too much is missing and the whole page is used.
_MIN_MAIN_TEXT_SHARE = 0.6
# The same if this share of the words of its paragraphs is missing: menus and footers have few words in a line.
_MAX_MISSING_SHARE, _MIN_WORDS_OF_PARAGRAPH = 0.1, 20
# Larger pages are used as a whole: finding the main text takes more than a second per million characters.
_MAX_MAIN_TEXT_CHARACTERS = 4_000_000
# In longer ones trafilatura does not compare its result with that of justext, which takes quadratic time.
_MAX_COMPARED_CHARACTERS = 50_000
# The libraries silently drop elements that are nested deeper.
_MAX_DEPTH = 200
_TOO_DEEP = "The elements of the web page are nested too deeply. Send its text."


def warm_up() -> None:
    """Make trafilatura load its data before the process forks."""
    trafilatura.extract("<html><body><p>Warm.</p></body></html>", output_format="markdown")


def read(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a web page.

    Raises:
        ParseFailed: If the page contains no text, or the limits are exceeded.
    """
    parsed = parse_html(decode_text(content), limits)
    if not parsed.text.strip():
        raise ParseFailed("The web page contains no text. If scripts fill the page, send it as the browser shows it.")
    return parsed


def parse_html(html: str, limits: Limits) -> ParsedDocument:
    """Parse HTML. The text is empty if there is no content.

    Raises:
        ParseFailed: If elements are nested too deeply, or the limits are exceeded.
    """
    page = _tree(html)
    if page is None:
        return ParsedDocument(text="")
    title = " ".join((page.findtext(".//title") or "").split())
    title = "" if _NO_TITLE.fullmatch(title) else title
    _mark_title(page)
    _remove_boilerplate(page, html_lists.read_styles("".join(map(str, page.xpath("//style/text()")))))
    if _depth(page) > _MAX_DEPTH:
        raise ParseFailed(_TOO_DEEP)
    main = [part for part in page.xpath(_MAIN) if part.text_content().strip()]
    if len(main) == 1:
        # trafilatura would leave out dates, names and telephone numbers in it.
        return _with_title(_full_text(main[0], limits), title)
    # This comes before `_full_text`, which removes the links that identify navigation.
    main_text = _main_text(page) if len(html) <= _MAX_MAIN_TEXT_CHARACTERS else None
    full_text = _full_text(page, limits)
    parsed = main_text if main_text and _is_complete(main_text, full_text) else full_text
    return _with_title(parsed, title)


def _with_title(parsed: ParsedDocument, title: str) -> ParsedDocument:
    """Put the title above a text that does not contain it, so that it is found and shown."""
    if title and parsed.text and title.casefold() not in _SPACE.sub(" ", parsed.text).casefold():
        parsed = parse_markdown(f"# {title}\n\n{parsed.text}")
    return replace(parsed, title=title) if title else with_chosen_title(parsed)


def _tree(html: str) -> lxml.html.HtmlElement | None:
    # As bytes, because lxml refuses text with an encoding declaration.
    parser = lxml.html.HTMLParser(encoding="utf-8", no_network=True, huge_tree=True)
    try:
        as_shown = _LINE_BREAK.sub("<br>", _FRONT_MATTER.sub("", html, count=1))
        page = lxml.html.document_fromstring(as_shown.encode("utf-8", "replace"), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError):  # empty page
        page = None
    if any("depth" in error.message.lower() for error in parser.error_log):  # deeper elements would be dropped
        raise ParseFailed(_TOO_DEEP)
    return page


def _mark_title(page: lxml.html.HtmlElement) -> None:
    """Turn the title that Office programs write above all other paragraphs into a heading."""
    first = next((element for element in page.iter(*_TEXT_TAGS) if element.text_content().strip()), None)
    if first is not None and first.tag == "p" and not _TITLE_CLASSES.isdisjoint(first.get("class", "").split()):
        first.tag = "h1"


def _depth(page: lxml.html.HtmlElement) -> int:
    depth = deepest = 0
    for event, _ in etree.iterwalk(page, events=("start", "end")):
        depth += 1 if event == "start" else -1
        deepest = max(deepest, depth)
    return deepest


def _remove_boilerplate(page: lxml.html.HtmlElement, list_styles: Mapping[str, str]) -> None:
    """Remove navigation, scripts and inline formatting, and collapse white space outside of preformatted text."""
    questions.show_answers(page)
    boilerplate.remove_boilerplate(page)
    for head in page.iter("head"):  # lxml puts the text of a page there that begins with an element it does not know
        head.tag = "div"
    for cell in page.xpath(_CELLS_WITHOUT_TABLE):
        if cell.getnext() is not None and cell.getnext().tag in _CELL_TAGS:
            cell.tail = f" {cell.tail or ''}"
        cell.tag = _DISSOLVED
    etree.strip_tags(page, _DISSOLVED)
    for row in page.xpath("//tr[not(ancestor::table)]"):
        row.tag = "div"
    for note in list(page.iter("aside")):
        note.tag = "div"
        note.attrib.clear()
    _dissolve_layout_tables(page)
    for element in page.xpath(_LISTS_OF_HEADINGS):
        element.tag = "div"
    outer = [heading for heading in page.xpath(_HEADINGS_AROUND_HEADINGS) if not (heading.text or "").strip()]
    for heading in (*page.xpath(_HEADINGS_AROUND_LISTS), *outer):
        heading.tag = "div"
    html_lists.write_numbers(page, list_styles)
    paragraphs.separate_words(page)
    paragraphs.divide_paragraphs(page)
    questions.mark_questions(page)
    html_headings.mark_headings(page)
    for element in page.iter(etree.Element):
        if element.tag in _INLINE_TAGS or ":" in element.tag:  # Word marks names: `<st1:place>`
            element.tag = _DISSOLVED
    etree.strip_tags(page, _DISSOLVED)
    for heading in list(page.iter("h1", "h2", "h3", "h4", "h5", "h6")):
        if not heading.text_content().strip():  # xberg fails if a heading has only spaces
            heading.tag = "div"
    preformatted = {element for pre in page.iter("pre", "textarea") for element in pre.iter()}
    for element in page.iter():
        if element.text and (element not in preformatted or element.text.isspace()):
            element.text = _collapse(element.text)
        if element.tail and (element.getparent() not in preformatted or element.tail.isspace()):
            element.tail = _collapse(element.tail)


def _collapse(text: str) -> str:
    """Return a text with single spaces. xberg fails if a text is only spaces that do not break."""
    return " " if text.isspace() and not text.isascii() else _SPACE.sub(" ", text)


def _dissolve_layout_tables(page: lxml.html.HtmlElement) -> None:
    """Turn tables that only place parts of the page into blocks.

    They hold tables, headings or a text of several paragraphs without names of columns, or are one column.
    """
    tables = dict.fromkeys(page.xpath(_LAYOUT_TABLES))
    with_text = dict.fromkeys(
        next(cell.iterancestors("table"), None) for cell in page.xpath(_LONG_CELLS) if _is_text(cell)
    )
    tables |= dict.fromkeys(table for table in with_text if table is not None and next(table.iter("th"), None) is None)
    for table in tables:
        parts = table.iter("tbody", "tr", "td", "th", "center")
        for part in [table, *(part for part in parts if next(part.iterancestors("table"), None) is table)]:
            part.tag = "div"


def _is_text(cell: lxml.html.HtmlElement) -> bool:
    return len(_WORD.findall(cell.text_content())) >= _MIN_WORDS_OF_TEXT


def _main_text(page: lxml.html.HtmlElement) -> ParsedDocument:
    """Return the main text according to trafilatura, which also removes unmarked menus and lists of links."""
    html = lxml.html.tostring(page, encoding="unicode")
    extracted_markdown = trafilatura.extract(
        html,
        output_format="markdown",
        include_comments=False,
        include_links=False,
        favor_recall=True,
        fast=len(html) > _MAX_COMPARED_CHARACTERS,
    )
    return parse_markdown(strip_formatting(extracted_markdown or "").strip())


def _full_text(part: lxml.html.HtmlElement, limits: Limits) -> ParsedDocument:
    """Return the whole text of an element."""
    etree.strip_tags(part, "a")
    html = lxml.html.tostring(part, encoding="unicode", with_tail=False)
    document = f'<!doctype html><html><head><meta charset="utf-8"></head><body>{html}</body></html>'
    extracted = extract(document.encode("utf-8", "replace"), formats.HTML, limits)
    return parse_markdown(strip_formatting(extracted.markdown).strip())


def _is_complete(main_text: ParsedDocument, full_text: ParsedDocument) -> bool:
    """Return whether the main text has most of the words and rows, and all paragraphs and upper headings."""
    headings = {heading.title for heading in main_text.headings}
    lowest = min((heading.level for heading in full_text.headings), default=1) + _UPPER_LEVELS - 1
    missing = [one for one in full_text.headings if one.level <= lowest and one.title not in headings]
    if len(_ROW.findall(main_text.text)) < _MIN_MAIN_TEXT_SHARE * len(_ROW.findall(full_text.text)):
        return False
    words, all_words = Counter(_WORD.findall(main_text.text)), Counter(_WORD.findall(full_text.text))
    if missing or words.total() < _MIN_MAIN_TEXT_SHARE * all_words.total():
        return False
    lines = (_WORD.findall(line) for line in full_text.text.split("\n"))
    paragraphs = Counter(word for line in lines if len(line) >= _MIN_WORDS_OF_PARAGRAPH for word in line)
    return (paragraphs - words).total() <= _MAX_MISSING_SHARE * paragraphs.total()
