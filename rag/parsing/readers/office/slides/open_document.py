"""OpenDocument: presentations, and flat files (a single XML document instead of a ZIP container).

Presentations are not read with xberg, which repeats titles and adds the placeholders of the master page.
"""

import io
import re
import zipfile
from collections.abc import Sequence

from lxml import etree

from rag.errors import ParseFailed
from rag.parsing import zip_files
from rag.parsing.markdown_builder import MarkdownBuilder
from rag.parsing.readers.extracted_markdown import clean_title, with_chosen_title
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

from .boxes import MAX_TITLE_CHARACTERS, Box, count_title_paragraphs, find_title, reading_order

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
_SVG, _STYLE = f"{{{_NAMESPACES['svg']}}}", f"{_TEXT}style-name"
_LENGTH = re.compile(r"(-?\d{1,6}(?:\.\d{1,9})?)(cm|mm|in|pt)")
_UNITS = {"cm": 1.0, "mm": 0.1, "in": 2.54, "pt": 2.54 / 72}
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
        shapes = [shape for shape in page if str(shape.tag).startswith(_DRAW) and not _is_ignored(shape)]
        title = _take_title(shapes)
        builder.add_page(number)
        builder.add_heading(1, title or f"Slide {number}")
        for shape in _ordered([shape for shape in shapes if _has_content(shape)]):
            _add_shape(builder, shape)
        frames = _find(page, "./presentation:notes//draw:frame[@presentation:class='notes']")
        if notes := " ".join(_single_line_text(frame) for frame in frames).strip():
            builder.add_paragraph(f"Notes: {notes}")
    title = "".join(_find(document if meta is None else meta, ".//dc:title/text()")[:1])
    return with_chosen_title(builder.build(title=clean_title(title)))


def _is_ignored(shape: etree._Element) -> bool:
    return shape.get(_PRESENTATION_CLASS) in _IGNORED_CLASSES


def _take_title(shapes: Sequence[etree._Element]) -> str:
    """Return the title of a slide, and remove its paragraphs. Some authors write titles in other shapes."""
    with_text = [shape for shape in shapes if _single_line_text(shape)]
    titles = [shape for shape in with_text if shape.get(_PRESENTATION_CLASS) == "title"]
    titled = titles or list(filter(None, [_find_title(with_text)]))
    if not titled:
        return ""
    paragraphs = [(part, text) for shape in titled for part in _paragraphs(shape) if (text := _text(part).strip())]
    if not titles or sum(len(text) for _, text in paragraphs) > MAX_TITLE_CHARACTERS:
        types = [(text, _type(paragraph)) for paragraph, text in paragraphs]
        paragraphs = paragraphs[: count_title_paragraphs(types)]
    title = " ".join(" ".join(text.split()) for _, text in paragraphs)
    if len(title) > MAX_TITLE_CHARACTERS:
        return paragraphs[0][1].partition("\n")[0]
    for paragraph, _ in paragraphs:
        paragraph.getparent().remove(paragraph)
    return title


def _find_title(shapes: Sequence[etree._Element]) -> etree._Element | None:
    """Return the only shape with text, or the one above all others."""
    if len(shapes) == 1:
        first = next(" ".join(_text(paragraph).split()) for paragraph in _paragraphs(shapes[0]))
        return shapes[0] if len(first) <= MAX_TITLE_CHARACTERS and not _find(shapes[0], ".//table:table") else None
    boxes = {shape: box for shape in shapes if (box := _box(shape))}
    title = find_title(list(boxes.values()))
    return next((shape for shape, box in boxes.items() if box is title and not _find(shape, ".//table:table")), None)


def _ordered(shapes: list[etree._Element]) -> list[etree._Element]:
    """Return the shapes in the order of reading, those without a place at the end."""
    boxes = {shape: box for shape in shapes if (box := _box(shape))}
    placed = list(boxes)
    order = [placed[number] for number in reading_order(list(boxes.values()))]
    return [*order, *(shape for shape in shapes if shape not in boxes)]


def _box(shape: etree._Element) -> Box | None:
    """Return where a shape is, in centimetres; None for one that is turned or does not say it. A group has parts."""
    parts = (shape, *_find(shape, ".//draw:*[@svg:width]"))
    places = [place for part in parts if (place := _place(part))]
    if not places:
        return None
    left, top = min(place[0] for place in places), min(place[1] for place in places)
    right, bottom = max(place[0] + place[2] for place in places), max(place[1] + place[3] for place in places)
    return Box(_single_line_text(shape), left, top, right - left, bottom - top)


def _place(shape: etree._Element) -> tuple[float, ...]:
    """Return the left and the upper edge, the width and the height of a shape; nothing if it does not say them."""
    sides = [_LENGTH.fullmatch(shape.get(f"{_SVG}{name}", "")) for name in ("x", "y", "width", "height")]
    return tuple(float(side[1]) * _UNITS[side[2]] for side in sides if side) if all(sides) else ()


def _has_content(shape: etree._Element) -> bool:
    return bool(_single_line_text(shape) or _find(shape, ".//svg:desc/text()"))


def _type(paragraph: etree._Element) -> tuple[str | None, ...]:
    """Return the names of the styles of a paragraph and of its first part."""
    return tuple(part.get(_STYLE) for part in (paragraph, *paragraph.iter(f"{_TEXT}span")))[:2]


def _add_shape(builder: MarkdownBuilder, shape: etree._Element) -> None:
    """Add the descriptions of a shape's pictures, then its tables, then its other paragraphs."""
    for description in _find(shape, ".//svg:desc/text()"):
        builder.add_paragraph(f"[Picture: {' '.join(description.split())}]")
    for table in _find(shape, ".//table:table"):
        rows = _find(table, ".//table:table-row")
        builder.add_table([[_single_line_text(cell) for cell in _find(row, "./table:table-cell")] for row in rows])
    outside_tables = _find(shape, ".//text:p[not(ancestor::table:table)] | .//text:h[not(ancestor::table:table)]")
    builder.add_paragraph("\n\n".join(text for paragraph in outside_tables if (text := _text(paragraph).strip())))


def _paragraphs(element: etree._Element) -> list[etree._Element]:
    return _find(element, ".//text:p | .//text:h")


def _single_line_text(element: etree._Element) -> str:
    """Return the text of an element's paragraphs and headings, with single spaces for all white space."""
    return " ".join(" ".join(map(_text, _paragraphs(element))).split())


def _text(element: etree._Element) -> str:
    """Return an element's text, with the white space that has elements of its own."""
    parts = [element.text or ""]
    for child in element:
        parts += [_SPACES.get(child.tag, "") if child.tag in _SPACES else _text(child), child.tail or ""]
    return "".join(parts)


def _find(element: etree._Element, path: str) -> list[etree._Element]:
    matches: list[etree._Element] = element.xpath(path, namespaces=_NAMESPACES)
    return matches
