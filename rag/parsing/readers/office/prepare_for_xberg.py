"""What is changed in Office files so that xberg reads them as Office does."""

import contextlib
import io
import re
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from xml.sax.saxutils import escape

from lxml import etree

from rag.errors import ParseFailed

from .beside_text import open_document_objects, open_document_parts
from .headings import open_document_headings
from .legacy import word_xml
from .numbering import html_lists, write_open_document_labels
from .numbering.open_document_numbers import OpenDocumentNumbers

_OFFICE, _TABLE, _TEXT = (
    f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}" for name in ("office", "table", "text")
)
_PACKAGE = "{http://schemas.microsoft.com/office/2006/xmlPackage}"
_TYPES = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{}</Types>'
# What stands for signs of a text document that are marks in Markdown: characters that no font has.
MARKS = {"\ue92a": "*", "\ue92e": "^"}
_MARKED = str.maketrans({sign: mark for mark, sign in MARKS.items()})
_DAMAGED = "The file is damaged or cut off. Open it, save it again and send that."
ANY_CONTENT = re.compile(b"")
_CELL_TO_CHANGE = re.compile(
    rb"<table:table-cell(?![^>]*\bvalue-type=)[^>]*(?<!/)>|\bvalue-type=\"(?:float|percentage|currency|time)\""
)
# Chapters and style sheets of a book, and what is changed in chapters, but not in a table of contents.
_IN_BOOK, _LIST_OR_LINK, _NAVIGATION = (
    (".xhtml", ".html", ".htm", ".css"),
    re.compile(b"<(?:ol|a) "),
    re.compile(rb"<nav [^>]{0,300}\btoc\b"),
)
# The address of a web page, and the mark of a note.
_ADDRESS, _NOTE_MARK = re.compile(r"[A-Za-z][A-Za-z+.-]{1,20}:"), re.compile(r"[\[(]?(\d{1,4}|[*†‡]{1,3})[\])]?")
_PICTURE_FOLDER = re.compile(r"(?:^|/)(?:media|Pictures|Thumbnails|embeddings)/")


def pack_flat(content: bytes) -> bytes:
    """Return a container with the parts of a flat document of Office (a single XML file; ECMA-376, Flat OPC).

    Raises:
        ParseFailed: If the document is no XML.
    """
    root = _parse(content)
    if root.tag == word_xml.ROOT:
        return word_xml.as_container(root)
    buffer, types = io.BytesIO(), list[str]()
    with zipfile.ZipFile(buffer, "w") as archive:
        for part in root.iter(f"{_PACKAGE}part"):
            name, data = part.get(f"{_PACKAGE}name", ""), part.find(f"{_PACKAGE}xmlData")
            media_type = escape(part.get(f"{_PACKAGE}contentType", ""), {'"': "&quot;"})
            if data is not None and len(data) and name.startswith("/"):  # others are pictures
                archive.writestr(name[1:], etree.tostring(data[0], encoding="utf-8", xml_declaration=True))
                types.append(f'<Override PartName="{escape(name)}" ContentType="{media_type}"/>')
        archive.writestr("[Content_Types].xml", _TYPES.format("".join(types)))
    return buffer.getvalue()


def prepare_open_spreadsheet(content: bytes) -> bytes:
    """Return a spreadsheet in which cells with text say that they have text: others have no type of their own.

    Shares, amounts of money and times are texts, too, as they are shown: xberg leaves out their signs.
    """
    return change_member(content, "content.xml", _CELL_TO_CHANGE, _change_cells)


def prepare_open_text(content: bytes) -> bytes:
    """Return a text in which headings are marked as such; its numbers and asterisks as in Word documents."""
    styles = read_part(content, "styles.xml")
    return change_member(content, "content.xml", ANY_CONTENT, partial(_change_text, content, styles))


def prepare_book(content: bytes) -> bytes:
    """Return an EPUB book in which the numbers of lists and notes are text: xberg counts from 1, and writes links."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if name.lower().endswith(_IN_BOOK)}
    sheets = (part.decode("utf-8", "replace") for name, part in members.items() if name.lower().endswith(".css"))
    styles, changed = html_lists.read_styles("\n".join(sheets)), dict[str, bytes]()
    for name, part in members.items():
        if _LIST_OR_LINK.search(part) and not _NAVIGATION.search(part):
            with contextlib.suppress(ParseFailed):  # xberg also reads chapters that are no XML
                root = _parse(part)
                html_lists.write_numbers(root, styles | html_lists.read_styles("\n".join(root.itertext("{*}style"))))
                _dissolve_links(root)
                changed[name] = etree.tostring(root, encoding="utf-8", xml_declaration=True)
    return replace_members(content, changed) if changed else content


def _dissolve_links(root: etree._Element) -> None:
    """Turn links within a book into text: the marks of notes in brackets, and nothing for those back from a note."""
    for link in list(root.iter("{*}a")):
        target, text = link.get("href", ""), "".join(map(str, link.itertext())).strip()
        if not target or _ADDRESS.match(target):
            continue
        link.tag = str(link.tag)[:-1] + "span"
        link.attrib.clear()
        if text and not any(map(str.isalpha, text)):
            link[:] = []
            mark = _NOTE_MARK.fullmatch(text)
            link.text = f"[{mark[1]}]" if mark else ""


def with_marks(text: str) -> str:
    """Return a text with `MARKS` for its asterisks and carets."""
    return text.translate(_MARKED)


def change_member(
    content: bytes, member: str, marker: re.Pattern[bytes], change: Callable[[etree._Element], None]
) -> bytes:
    """Return the container with a changed member if that has the marker."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if member not in archive.namelist():
            return content
        part = archive.read(member)
        if not marker.search(part):
            return content
        root = _parse(part)
        change(root)
    return replace_members(content, {member: etree.tostring(root, encoding="utf-8", xml_declaration=True)})


def read_part(content: bytes, member: str, *, strict: bool = True) -> etree._Element | None:
    """Return a part; None if there is none, or if it is damaged and the text can be read without it."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        part = archive.read(member) if member in archive.namelist() else None
    try:
        return None if part is None else _parse(part)
    except ParseFailed:
        if strict:
            raise
        return None


def _parse(part: bytes) -> etree._Element:
    try:
        return etree.fromstring(part, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
    except etree.XMLSyntaxError:
        raise ParseFailed(_DAMAGED) from None


def replace_members(content: bytes, replaced: Mapping[str, bytes]) -> bytes:
    """Return a container with other contents of some members, and without its pictures, which are not read."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(buffer, "w") as changed:
        for name in dict.fromkeys(archive.namelist()):
            if name in replaced:
                changed.writestr(name, replaced[name])
            else:
                changed.writestr(name, b"" if _PICTURE_FOLDER.search(name) else archive.read(name))
    return buffer.getvalue()


def _change_cells(root: etree._Element) -> None:
    for cell in root.iter(f"{_TABLE}table-cell"):
        kind = cell.get(f"{_OFFICE}value-type", "")
        if kind in ("", "float", "percentage", "currency", "time") and cell.find(f"{_TEXT}p") is not None:
            cell.set(f"{_OFFICE}value-type", "string")
            for name in ("value", "time-value"):
                cell.attrib.pop(f"{_OFFICE}{name}", None)


def _change_text(content: bytes, styles: etree._Element | None, root: etree._Element) -> None:
    open_document_headings.mark_headings(root, styles)
    numbers = OpenDocumentNumbers(part for part in (styles, root) if part is not None)
    write_open_document_labels.write_labels(root, numbers.labels(root))
    open_document_objects.write_objects(root, partial(read_part, content, strict=False))
    open_document_parts.place_parts(root)
    for element in root.iter():
        element.text = element.text and with_marks(element.text)
        element.tail = element.tail and with_marks(element.tail)
