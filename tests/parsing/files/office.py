"""Word, Excel and PowerPoint files."""

import io
import zipfile
from collections.abc import Mapping, Sequence

from .archives import packed

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
SLIDE = "http://schemas.openxmlformats.org/presentationml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
CHART = "http://schemas.openxmlformats.org/drawingml/2006/chart"
REFERENCE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_MAIN = "application/vnd.openxmlformats-officedocument"
_RELATIONS_TYPE = "application/vnd.openxmlformats-package.relationships+xml"


def _content_types(main: str, part: str) -> str:
    return (
        f'<?xml version="1.0"?><Types xmlns="{_TYPES}"><Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType='
        f'"application/xml"/><Override PartName="/{part}" ContentType="{_MAIN}.{main}.main+xml"/></Types>'
    )


def relations(*targets: tuple[str, str]) -> str:
    """Relationships of (type, target), with the ids rId1, rId2 and so on."""
    elements = "".join(
        f'<Relationship Id="rId{number}" Type="{REFERENCE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets, 1)
    )
    return f'<?xml version="1.0"?><Relationships xmlns="{RELATIONS}">{elements}</Relationships>'


def docx(body: str, *, doctype: str = "", members: Mapping[str, str | bytes] | None = None) -> bytes:
    """`body`: the paragraphs' XML; see `paragraph`."""
    return packed(
        {
            "[Content_Types].xml": _content_types("wordprocessingml.document", "word/document.xml"),
            "_rels/.rels": relations(("officeDocument", "word/document.xml")),
            "word/document.xml": f'<?xml version="1.0"?>{doctype}<w:document xmlns:w="{WORD}"><w:body>{body}</w:body>'
            "</w:document>",
            "word/styles.xml": f'<?xml version="1.0"?><w:styles xmlns:w="{WORD}"><w:style w:type="paragraph" '
            'w:styleId="Heading1"><w:name w:val="heading 1"/></w:style></w:styles>',
            "word/_rels/document.xml.rels": relations(("styles", "styles.xml")),
            **(members or {}),
        }
    )


def paragraph(*runs: str, heading: bool = False, page: bool = False, font: str = "") -> str:
    """`page`: a new page starts before the paragraph. `font`: the properties of its runs, such as "<w:b/>"."""
    style = '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>' if heading else ""
    begins = "<w:r><w:lastRenderedPageBreak/></w:r>" if page else ""
    font = font and f"<w:rPr>{font}</w:rPr>"
    texts = "".join(f'<w:r>{font}<w:t xml:space="preserve">{run}</w:t></w:r>' for run in runs)
    return f"<w:p>{style}{begins}{texts}</w:p>"


def xlsx(sheets: Mapping[str, Sequence[Sequence[str]]]) -> bytes:
    """A workbook whose cells are inline strings."""
    listed = "".join(
        f'<sheet name="{name}" sheetId="{number}" r:id="rId{number}"/>' for number, name in enumerate(sheets, 1)
    )
    members: dict[str, str | bytes] = {
        "[Content_Types].xml": _content_types("spreadsheetml.sheet", "xl/workbook.xml"),
        "_rels/.rels": relations(("officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<?xml version="1.0"?><workbook xmlns="{SHEET}" xmlns:r="{REFERENCE}"><sheets>{listed}'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": relations(
            *(("worksheet", f"worksheets/sheet{number}.xml") for number in range(1, len(sheets) + 1))
        ),
    }
    for number, rows in enumerate(sheets.values(), 1):
        row_elements = "".join(
            f'<row r="{line}">'
            + "".join(
                f'<c r="{chr(65 + column)}{line}" t="inlineStr"><is><t>{cell}</t></is></c>'
                for column, cell in enumerate(row)
            )
            + "</row>"
            for line, row in enumerate(rows, 1)
        )
        members[f"xl/worksheets/sheet{number}.xml"] = (
            f'<?xml version="1.0"?><worksheet xmlns="{SHEET}"><sheetData>{row_elements}</sheetData></worksheet>'
        )
    return packed(members)


def pptx(
    slides: Sequence[tuple[str, str]], *, notes: Mapping[int, str] | None = None, doctype: str = "", title: str = ""
) -> bytes:
    """Slides of (title, text). `notes`: text by slide number, from 1. Files of notes are numbered independently."""
    names = f'xmlns:a="{DRAWING}" xmlns:p="{SLIDE}" xmlns:r="{REFERENCE}"'
    listed = "".join(f'<p:sldId id="{255 + number}" r:id="rId{number}"/>' for number in range(1, len(slides) + 1))
    members: dict[str, str | bytes] = {
        "[Content_Types].xml": _content_types("presentationml.presentation", "ppt/presentation.xml"),
        "_rels/.rels": relations(("officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f'<?xml version="1.0"?><p:presentation {names}><p:sldIdLst>{listed}</p:sldIdLst>'
        "</p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(
            *(("slide", f"slides/slide{number}.xml") for number in range(1, len(slides) + 1))
        ),
    }
    if title:
        members["docProps/core.xml"] = (
            f'<coreProperties xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></coreProperties>'
        )
    for number, (heading, text) in enumerate(slides, 1):
        members[f"ppt/slides/slide{number}.xml"] = (
            f'<?xml version="1.0"?>{doctype}<p:sld {names}><p:cSld><p:spTree>{_shape("title", heading)}'
            f"{_shape('body', text)}</p:spTree></p:cSld></p:sld>"
        )
    for number, (slide, text) in enumerate((notes or {}).items(), 1):
        members[f"ppt/notesSlides/notesSlide{number}.xml"] = (
            f'<?xml version="1.0"?><p:notes {names}><p:cSld><p:spTree>{_shape("body", text)}</p:spTree></p:cSld>'
            "</p:notes>"
        )
        members[f"ppt/slides/_rels/slide{slide}.xml.rels"] = relations(
            ("notesSlide", f"../notesSlides/notesSlide{number}.xml")
        )
    return packed(members)


def _shape(place: str, text: str) -> str:
    """The text with its first letter in a separate run, as if its formatting differed."""
    runs = f"<a:r><a:t>{text[:1]}</a:t></a:r><a:r><a:t>{text[1:]}</a:t></a:r>"
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="2" name="x"/><p:cNvSpPr/><p:nvPr><p:ph type="{place}"/></p:nvPr></p:nvSpPr>'
        f"<p:txBody><a:p>{runs}</a:p></p:txBody></p:sp>"
    )


def flat_docx(content: bytes) -> bytes:
    """The document of `docx`, as one XML file."""
    main = {"word/document.xml": "document.main", "word/styles.xml": "styles", "word/numbering.xml": "numbering"}
    parts = ""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in set(archive.namelist()) - {"[Content_Types].xml"}:
            media_type = f"{_MAIN}.wordprocessingml.{main[name]}+xml" if name in main else _RELATIONS_TYPE
            data = archive.read(name).decode().partition("?>")[2]
            attributes = f'pkg:name="/{name}" pkg:contentType="{media_type}"'
            parts += f"<pkg:part {attributes}><pkg:xmlData>{data}</pkg:xmlData></pkg:part>"
    return (
        '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<?mso-application progid="Word.Document"?>\n'
        '<pkg:package xmlns:pkg="http://schemas.microsoft.com/office/2006/xmlPackage">'
        f'{parts}<pkg:part pkg:name="/word/media/a.png"><pkg:binaryData>AA==</pkg:binaryData></pkg:part></pkg:package>'
    ).encode()
