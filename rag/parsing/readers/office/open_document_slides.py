"""OpenDocument: presentations, and flat files (a single XML document instead of a ZIP container).

Presentations are not read with xberg, which repeats titles and adds the placeholders of the master page.
"""

import io
import zipfile

from lxml import etree

from rag.errors import ParseFailed
from rag.parsing import zip_files
from rag.parsing.markdown_builder import MarkdownBuilder
from rag.parsing.readers.extracted_markdown import clean_title, with_chosen_title
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

_NAMESPACES = {
    "office": "urn:oasis:names:tc:opendocument:xmlns:office:1.0",
    "draw": "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0",
    "presentation": "urn:oasis:names:tc:opendocument:xmlns:presentation:1.0",
    "svg": "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0",
    "table": "urn:oasis:names:tc:opendocument:xmlns:table:1.0",
    "text": "urn:oasis:names:tc:opendocument:xmlns:text:1.0",
    "dc": "http://purl.org/dc/elements/1.1/",
}
_TEXT = f"{{{_NAMESPACES['text']}}}"
_DRAW = f"{{{_NAMESPACES['draw']}}}"
_SPACES = {f"{_TEXT}tab": "\t", f"{_TEXT}line-break": "\n", f"{_TEXT}s": " "}
_PRESENTATION_CLASS = f"{{{_NAMESPACES['presentation']}}}class"
_IGNORED_CLASSES = ("date-time", "footer", "header", "page-number")
_DAMAGED = "The OpenDocument file is damaged or cut off. Open it, save it again and send that."

_MANIFEST = (
    '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry '
    'manifest:full-path="/" manifest:media-type="{0}"/><manifest:file-entry manifest:full-path="content.xml" '
    'manifest:media-type="text/xml"/></manifest:manifest>'
)


def pack_flat(content: bytes, media_type: str) -> bytes:
    """Return a container with a flat document as its content, because libraries read only containers.

    Raises:
        ParseFailed: If the document is no XML.
    """
    try:
        root = _xml(content)
    except etree.XMLSyntaxError:
        raise ParseFailed(_DAMAGED) from None
    root.tag = f"{{{_NAMESPACES['office']}}}document-content"
    content = etree.tostring(root, encoding="utf-8", xml_declaration=True)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mimetype", media_type)
        archive.writestr("content.xml", content)
        archive.writestr("meta.xml", content)  # a flat document holds its metadata too
        archive.writestr("META-INF/manifest.xml", _MANIFEST.format(media_type))
    return buffer.getvalue()


def read_presentation(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a presentation: each slide is a page with its title, texts, tables and notes.

    Raises:
        ParseFailed: If the presentation is damaged, or exceeds the limits.
    """
    try:
        if not content.startswith(zip_files.MAGIC):
            return _parse(_xml(content), None)
        zip_files.check_archive(content, limits)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            meta = _xml(archive.read("meta.xml")) if "meta.xml" in archive.namelist() else None
            return _parse(_xml(archive.read("content.xml")), meta)
    except (etree.XMLSyntaxError, KeyError, ValueError):
        raise ParseFailed(_DAMAGED) from None


def _xml(content: bytes) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    return etree.fromstring(content, parser)


def _parse(document: etree._Element, meta: etree._Element | None) -> ParsedDocument:
    builder = MarkdownBuilder()
    for number, page in enumerate(_find(document, ".//office:presentation/draw:page"), 1):
        titles = [_single_line_text(frame) for frame in _find(page, "./draw:*[@presentation:class='title']")]
        builder.add_page(number)
        builder.add_heading(1, " ".join(titles) or f"Slide {number}")
        for shape in page:
            if str(shape.tag).startswith(_DRAW) and shape.get(_PRESENTATION_CLASS) != "title":
                _add_shape(builder, shape)
        frames = _find(page, "./presentation:notes//draw:frame[@presentation:class='notes']")
        if notes := " ".join(_single_line_text(frame) for frame in frames).strip():
            builder.add_paragraph(f"Notes: {notes}")
    title = "".join(_find(document if meta is None else meta, ".//dc:title/text()")[:1])
    return with_chosen_title(builder.build(title=clean_title(title)))


def _add_shape(builder: MarkdownBuilder, shape: etree._Element) -> None:
    """Add the descriptions of a shape's pictures, then its tables, then its other paragraphs.

    Dates, headers, footers and page numbers are skipped.
    """
    if shape.get(_PRESENTATION_CLASS) in _IGNORED_CLASSES:
        return
    for description in _find(shape, ".//svg:desc/text()"):
        builder.add_paragraph(f"[Picture: {' '.join(description.split())}]")
    for table in _find(shape, ".//table:table"):
        rows = _find(table, ".//table:table-row")
        builder.add_table([[_single_line_text(cell) for cell in _find(row, "./table:table-cell")] for row in rows])
    outside_tables = _find(shape, ".//text:p[not(ancestor::table:table)] | .//text:h[not(ancestor::table:table)]")
    builder.add_paragraph("\n\n".join(text for paragraph in outside_tables if (text := _text(paragraph).strip())))


def _single_line_text(element: etree._Element) -> str:
    """Return the text of an element's paragraphs and headings, with single spaces for all white space."""
    return " ".join(" ".join(_text(part) for part in _find(element, ".//text:p | .//text:h")).split())


def _text(element: etree._Element) -> str:
    """Return an element's text, with the white space that has elements of its own."""
    parts = [element.text or ""]
    for child in element:
        parts += [_SPACES.get(child.tag, "") if child.tag in _SPACES else _text(child), child.tail or ""]
    return "".join(parts)


def _find(element: etree._Element, path: str) -> list[etree._Element]:
    matches: list[etree._Element] = element.xpath(path, namespaces=_NAMESPACES)
    return matches
