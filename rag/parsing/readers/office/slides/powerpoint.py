"""PowerPoint presentations: each slide is a page with its title, texts, tables, chart data and notes.

Does not use xberg, which inserts spaces where formatting changes within a word and assigns notes to wrong slides.
"""

import io
import posixpath
import zipfile
from collections.abc import Sequence

from lxml import etree

from rag.errors import ParseFailed
from rag.parsing import zip_files
from rag.parsing.markdown_builder import MarkdownBuilder
from rag.parsing.readers.extracted_markdown import clean_title, with_chosen_title
from rag.parsing.readers.office.beside_text.charts import read_chart_rows, read_paragraphs, read_words
from rag.parsing.readers.office.numbering.slide_numbers import number_paragraphs
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

from .boxes import MAX_TITLE_CHARACTERS, Box, count_title_paragraphs, find_title, reading_order

_NAMESPACES = {
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "p": "http://schemas.openxmlformats.org/presentationml/2006/main",
    "r": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    "dc": "http://purl.org/dc/elements/1.1/",
}
_SHAPE, _PARAGRAPH = f"{{{_NAMESPACES['p']}}}sp", f"{{{_NAMESPACES['a']}}}p"
_TITLE_PLACEHOLDERS = {"title", "ctrTitle"}
# Dates, footers, slide numbers and similar placeholders, which are not part of the content.
_IGNORED_PLACEHOLDERS = {"dt", "ftr", "sldNum", "hdr", "sldImg"}
_PLACE = "(./p:spPr/a:xfrm | ./p:grpSpPr/a:xfrm | ./p:xfrm)[1]"
_SIDES = ("a:off/@x", "a:off/@y", "a:ext/@cx", "a:ext/@cy")
# In hundredths of a point: the size of text that does not say it.
_USUAL_SIZE = 1_800
_SHAPES = "./p:cSld/p:spTree/*[not(self::p:nvGrpSpPr or self::p:grpSpPr)]"
_PARTS = "descendant-or-self::p:sp | descendant-or-self::p:graphicFrame | descendant-or-self::p:pic"
_DAMAGED = "The PowerPoint presentation is damaged or cut off. Open it, save it again and send that."


def read(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a PowerPoint presentation.

    Raises:
        ParseFailed: If the presentation is damaged, or exceeds the limits.
    """
    zip_files.check_archive(content, limits)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        try:
            return _Presentation(archive).parse()
        except (etree.XMLSyntaxError, KeyError, ValueError):
            raise ParseFailed(_DAMAGED) from None


class _Presentation:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._builder = MarkdownBuilder()

    def parse(self) -> ParsedDocument:
        presentation = self._xml("ppt/presentation.xml")
        targets = self._relationships("ppt/presentation.xml")
        slides = _find(presentation, ".//p:sldIdLst/p:sldId/@r:id")
        for number, slide in enumerate(slides, 1):
            self._add_slide(number, targets[slide][1])
        # PowerPoint takes the title from the first slide once; it stays when the slides are used for something else.
        return with_chosen_title(self._builder.build(title=self._title()), min_characters=0)

    def _title(self) -> str:
        if "docProps/core.xml" not in self._archive.namelist():
            return ""
        title = " ".join("".join(_find(self._xml("docProps/core.xml"), ".//dc:title/text()")).split())
        return clean_title(title)

    def _add_slide(self, number: int, path: str) -> None:
        """Add a slide as a page: its title, its shapes in their order, and its notes."""
        slide, related = self._xml(path), self._relationships(path)
        shapes = [shape for shape in _find(slide, _SHAPES) if _placeholder_type(shape) not in _IGNORED_PLACEHOLDERS]
        title = _take_title(shapes)
        self._builder.add_page(number)
        self._builder.add_heading(1, title or f"Slide {number}")
        for shape in _ordered([shape for shape in shapes if _has_content(shape)]):
            for part in _find(shape, _PARTS):
                self._add_shape(part, related)
        for relationship_type, related_path in related.values():
            if relationship_type == "notesSlide":
                self._add_notes(related_path)

    def _add_shape(self, shape: etree._Element, related: dict[str, tuple[str, str]]) -> None:
        """Add the text, table, chart, diagram or picture description of a shape."""
        for description in _find(shape, "self::p:pic/p:nvPicPr/p:cNvPr/@descr"):
            self._builder.add_paragraph(f"[Picture: {' '.join(description.split())}]")
        if rows := _find(shape, ".//a:tbl/a:tr"):
            self._builder.add_table([[_single_line_text(cell) for cell in _find(row, "./a:tc")] for row in rows])
            return
        self._builder.add_paragraph(_numbered_text(shape))
        for reference in _find(shape, "self::p:graphicFrame//@r:id | self::p:graphicFrame//@r:dm"):
            kind, path = related.get(reference, ("", ""))
            if kind == "chart":
                self._add_chart(path)
            elif kind == "diagramData":
                self._builder.add_paragraph("\n\n".join(read_paragraphs(self._xml(path))))

    def _add_chart(self, path: str) -> None:
        chart = self._xml(path)
        self._builder.add_paragraph(" ".join(read_paragraphs(chart)))
        self._builder.add_table(read_chart_rows(chart))

    def _add_notes(self, path: str) -> None:
        shapes = [
            shape
            for shape in _find(self._xml(path), ".//p:sp")
            if _placeholder_type(shape) not in _IGNORED_PLACEHOLDERS
        ]
        if notes := "\n\n".join(paragraph for shape in shapes for paragraph in read_paragraphs(shape)):
            self._builder.add_paragraph(f"Notes: {notes}")

    def _xml(self, path: str) -> etree._Element:
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
        return etree.fromstring(self._archive.read(path), parser)

    def _relationships(self, path: str) -> dict[str, tuple[str, str]]:
        """Return the relationships of a part: id → (type, path of the target). External targets are ignored."""
        folder, name = posixpath.split(path)
        relationships_path = f"{folder}/_rels/{name}.rels"
        if relationships_path not in self._archive.namelist():
            return {}
        targets = {}
        for relation in self._xml(relationships_path):
            if relation.get("TargetMode") != "External" and relation.get("Target"):
                target = posixpath.normpath(posixpath.join("/", folder, relation.get("Target", ""))).lstrip("/")
                targets[relation.get("Id", "")] = (relation.get("Type", "").rpartition("/")[2], target)
        return targets


def _placeholder_type(shape: etree._Element) -> str:
    """Return the type of the layout placeholder that a shape fills; empty if it does not fill a placeholder."""
    placeholders = _find(shape, "./*/p:nvPr/p:ph")
    return placeholders[0].get("type", "body") if placeholders else ""


def _take_title(shapes: Sequence[etree._Element]) -> str:
    """Return the title of a slide, and remove its paragraphs. Some programs write titles without a placeholder."""
    with_text = [shape for shape in shapes if _single_line_text(shape)]
    titles = [shape for shape in with_text if _placeholder_type(shape) in _TITLE_PLACEHOLDERS]
    titled = titles[0] if titles else _find_title(with_text)
    if titled is None:
        return ""
    paragraphs = [(paragraph, words) for paragraph in titled.iter(_PARAGRAPH) if (words := read_words(paragraph))]
    if not titles or len(_single_line_text(titled)) > MAX_TITLE_CHARACTERS:
        types = [(words, _largest(paragraph)) for paragraph, words in paragraphs]
        paragraphs = paragraphs[: count_title_paragraphs(types)]
    title = " ".join(" ".join(words.split()) for _, words in paragraphs)
    if len(title) > MAX_TITLE_CHARACTERS:
        return paragraphs[0][1].partition("\n")[0]
    for paragraph, _ in paragraphs:
        paragraph.getparent().remove(paragraph)
    return title


def _find_title(shapes: Sequence[etree._Element]) -> etree._Element | None:
    """Return the only shape with text, the one above all others, or the uppermost one if it has the largest type."""
    if len(shapes) == 1:
        is_short = len(next(read_paragraphs(shapes[0]))) <= MAX_TITLE_CHARACTERS
        return shapes[0] if is_short and shapes[0].tag == _SHAPE else None
    boxes = {shape: box for shape in shapes if (box := _box(shape))}
    if len(boxes) < max(len(shapes), 2):  # a shape without a place has that of a layout, which is not read
        return None
    title = find_title(list(boxes.values()))
    first, *others = sorted(shapes, key=lambda shape: boxes[shape].top)
    if title is None and boxes[first].is_title() and _largest(first) > max(map(_largest, others)):
        title = boxes[first]
    return next((shape for shape, box in boxes.items() if box is title and shape.tag == _SHAPE), None)


def _ordered(shapes: list[etree._Element]) -> list[etree._Element]:
    boxes = [box for shape in shapes if (box := _box(shape))]
    return [shapes[number] for number in reading_order(boxes)] if len(boxes) == len(shapes) else shapes


def _box(shape: etree._Element) -> Box | None:
    """Return where a shape is; None if it does not say it."""
    sides = [side for place in _find(shape, _PLACE) for path in _SIDES for side in _find(place, path)]
    if len(sides) != len(_SIDES) or not all(side.lstrip("-").isdecimal() for side in sides):
        return None
    return Box(_single_line_text(shape), *map(float, sides))


def _has_content(shape: etree._Element) -> bool:
    return bool(_single_line_text(shape) or _find(shape, ".//@descr | descendant-or-self::p:graphicFrame"))


def _largest(shape: etree._Element) -> int:
    """Return the size of the largest type, or the usual one."""
    return max((int(size) for size in _find(shape, ".//@sz") if size.isdecimal()), default=_USUAL_SIZE)


def _numbered_text(shape: etree._Element) -> str:
    """Return the paragraphs of a shape. Those with numbers are lines of a list."""
    text, is_item_above = "", False
    for paragraph, number in number_paragraphs(shape):
        if words := read_words(paragraph):
            separator = ("\n" if number and is_item_above else "\n\n") if text else ""
            text += f"{separator}{number} {words}" if number else f"{separator}{words}"
            is_item_above = bool(number)
    return text


def _single_line_text(shape: etree._Element) -> str:
    """Return the paragraphs of a shape or table cell, joined with spaces."""
    return " ".join(read_paragraphs(shape))


def _find(element: etree._Element, path: str) -> list[etree._Element]:
    matches: list[etree._Element] = element.xpath(path, namespaces=_NAMESPACES)
    return matches
