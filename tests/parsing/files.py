"""Builds small files of each format, valid and hostile."""

import hashlib
import io
import struct
import zipfile
from collections.abc import Mapping, Sequence
from email.message import EmailMessage

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
SLIDE = "http://schemas.openxmlformats.org/presentationml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
REFERENCE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_MAIN = "application/vnd.openxmlformats-officedocument"


def packed(members: Mapping[str, str | bytes]) -> bytes:
    """A ZIP archive of these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


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


def paragraph(*runs: str, heading: bool = False, page: bool = False) -> str:
    """`page`: a new page starts before the paragraph."""
    style = '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>' if heading else ""
    begins = "<w:r><w:lastRenderedPageBreak/></w:r>" if page else ""
    texts = "".join(f'<w:r><w:t xml:space="preserve">{run}</w:t></w:r>' for run in runs)
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


def pptx(slides: Sequence[tuple[str, str]], *, notes: Mapping[int, str] | None = None, doctype: str = "") -> bytes:
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
    for number, (title, text) in enumerate(slides, 1):
        members[f"ppt/slides/slide{number}.xml"] = (
            f'<?xml version="1.0"?>{doctype}<p:sld {names}><p:cSld><p:spTree>{_shape("title", title)}'
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


def epub(chapters: Sequence[str], *, doctype: str = "<!DOCTYPE html>") -> bytes:
    """Chapters as the XHTML of their bodies."""
    numbers = range(1, len(chapters) + 1)
    items = "".join(f'<item id="c{n}" href="c{n}.xhtml" media-type="application/xhtml+xml"/>' for n in numbers)
    spine = "".join(f'<itemref idref="c{n}"/>' for n in numbers)
    return packed(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<?xml version="1.0"?><container version="1.0" '
            'xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="content.opf" '
            'media-type="application/oebps-package+xml"/></rootfiles></container>',
            "content.opf": '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0" '
            'unique-identifier="id"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">1'
            "</dc:identifier><dc:title>The small book</dc:title><dc:language>en</dc:language></metadata><manifest>"
            f"{items}</manifest><spine>{spine}</spine></package>",
            **{
                f"c{number}.xhtml": f'<?xml version="1.0"?>{doctype}<html xmlns="http://www.w3.org/1999/xhtml"><head>'
                f"<title>x</title></head><body>{chapter}</body></html>"
                for number, chapter in enumerate(chapters, 1)
            },
        }
    )


def pdf(pages: Sequence[str], *, password: str | None = None, kids: str = "", content: bytes | None = None) -> bytes:
    """Create a PDF with pages of Latin text.

    Args:
        pages: The text of each page.
        password: Encrypts the file (RC4, 40 bits).
        kids: Replaces the page tree's references to pages.
        content: Replaces the content of every page; it must be compressed.
    """
    count = len(pages)
    objects: list[bytes] = [b"<< /Type /Catalog /Pages 2 0 R >>"]
    listed = kids or " ".join(f"{4 + 2 * number} 0 R" for number in range(count))
    objects.append(f"<< /Type /Pages /Kids [{listed}] /Count {count} >>".encode())
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    key = _pdf_key(password) if password is not None else b""
    for number, page in enumerate(pages):
        object_number = 4 + 2 * number
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {object_number + 1} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        shown = "".join(f"({_pdf_escaped(line)}) Tj 0 -16 Td " for line in page.split("\n"))
        stream = content or f"BT /F1 12 Tf 72 720 Td {shown} ET".encode("latin-1")
        if key:
            stream = _rc4(_md5(key + struct.pack("<I", object_number + 1)[:3] + b"\0\0")[:10], stream)
        extra = b" /Filter /FlateDecode" if content else b""
        objects.append(b"<< /Length %d%s >>\nstream\n%s\nendstream" % (len(stream), extra, stream))
    trailer = b""
    if password is not None:
        owner, user = _pdf_owner(password), _rc4(key, _PADDING)
        objects.append(
            b"<< /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >>" % (owner.hex().encode(), user.hex().encode())
        )
        trailer = b" /Encrypt %d 0 R /ID [<%s> <%s>]" % (len(objects), _ID.hex().encode(), _ID.hex().encode())
    return _pdf_written(objects, trailer)


def _pdf_written(objects: Sequence[bytes], trailer: bytes) -> bytes:
    pdf_bytes, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(pdf_bytes))
        pdf_bytes += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in offsets)
    size, start = len(objects) + 1, len(pdf_bytes)
    return (
        pdf_bytes
        + b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R%s >>\nstartxref\n%d\n%%%%EOF"
        % (
            size,
            table,
            size,
            trailer,
            start,
        )
    )


def _pdf_escaped(line: str) -> str:
    return line.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


_ID = b"0123456789abcdef"
_PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")


def _pdf_owner(password: str) -> bytes:
    padded = (password.encode("latin-1") + _PADDING)[:32]
    return _rc4(_md5(padded)[:5], padded)


def _pdf_key(password: str) -> bytes:
    padded = (password.encode("latin-1") + _PADDING)[:32]
    return _md5(padded + _pdf_owner(password) + struct.pack("<i", -4) + _ID)[:5]


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


def _rc4(key: bytes, data: bytes) -> bytes:
    state, j = list(range(256)), 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    i = j = 0
    encrypted = bytearray()
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        encrypted.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(encrypted)


def eml(*, text: str = "", html: str = "", attachment: str = "") -> bytes:
    message = EmailMessage()
    message["From"] = "Ada Example <ada@example.com>"
    message["To"] = "ben@example.com"
    message["Cc"] = "cleo@example.com"
    message["Subject"] = "Über die Brücke"
    message["Date"] = "Wed, 15 Mar 2024 14:30:00 +0000"
    if text:
        message.set_content(text)
    if html:
        message.add_alternative(html, subtype="html")
    if attachment:
        message.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename=attachment)
    return message.as_bytes()


def ole(streams: Mapping[str, bytes]) -> bytes:
    """A compound file (version 3) with these streams in its root. They are padded to 4,096 bytes: no mini stream."""
    sector, end, fat_sector, free = 512, 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFF
    padded = {name: content.ljust(4096, b"\0") for name, content in streams.items()}
    entries = 1 + len(padded)
    directory_sectors = -(-entries // 4)
    table = [fat_sector, *range(2, 1 + directory_sectors), end]
    data, starts = b"", []
    for content in padded.values():
        first, many = len(table), -(-len(content) // sector)
        starts.append(first)
        table += [*range(first + 1, first + many), end]
        data += content.ljust(many * sector, b"\0")
    assert len(table) <= 128

    def entry(name: str, kind: int, child: int, right: int, start: int, size: int) -> bytes:
        encoded = name.encode("utf-16-le")
        return struct.pack(
            "<64sHBBIII16sIQQIQ",
            encoded, len(encoded) + 2, kind, 1, free, right, child, b"", 0, 0, 0, start, size,
        )  # fmt: skip

    directory = entry("Root Entry", 5, 1, free, end, 0)
    ordered = sorted(zip(padded, starts, strict=True), key=lambda stream: (len(stream[0]), stream[0].upper()))
    for number, (name, start) in enumerate(ordered, 1):
        right = number + 1 if number < len(ordered) else free
        directory += entry(name, 2, free, right, start, len(padded[name]))
    directory = directory.ljust(directory_sectors * sector, b"\0")
    header = struct.pack(
        "<8s16sHHHHH6sIIIIIIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 0x3E, 3, 0xFFFE, 9, 6, b"",
        0, 1, 1, 0, 4096, end, 0, end, 0,
    ) + struct.pack("<109I", 0, *[free] * 108)  # fmt: skip
    return header + struct.pack("<128I", *table, *[free] * (128 - len(table))) + directory + data


def msg(subject: str, body: str, sender: str) -> bytes:
    """An Outlook message with three Unicode properties."""
    texts = {0x0037: subject, 0x1000: body, 0x0C1F: sender, 0x001A: "IPM.Note"}
    streams = {f"__substg1.0_{tag:04X}001F": text.encode("utf-16-le") for tag, text in texts.items()}
    listed = b"".join(
        struct.pack("<IIII", (tag << 16) | 0x1F, 6, len(text.encode("utf-16-le")) + 2, 0) for tag, text in texts.items()
    )
    return ole({**streams, "__properties_version1.0": b"\0" * 32 + listed})
