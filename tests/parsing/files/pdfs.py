"""PDF files."""

import hashlib
import struct
from collections.abc import Sequence

from PIL import Image


def pdf(
    pages: Sequence[str | Image.Image],
    *,
    password: str | None = None,
    kids: str = "",
    content: bytes | None = None,
    layer: str = "",
) -> bytes:
    """Create a PDF with pages of Latin text.

    Args:
        pages: The text of each page, or its picture.
        password: Encrypts the file (RC4, 40 bits).
        kids: Replaces the page tree's references to pages.
        content: Replaces the content of every page; it must be compressed.
        layer: Text on every page that cannot be seen, such as that of a scanner.
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
        stream = content or (_pdf_text(page) if isinstance(page, str) else _pdf_picture(page))
        if layer:
            stream += b"\n" + _pdf_text(layer).replace(b"BT", b"BT 3 Tr", 1)
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


def pdf_with_letters(content: str, letters: str) -> bytes:
    """Create a PDF with a page whose font has these letters, in the places of `a`, `b` and so on.

    Args:
        content: The operators of the page; its font is /F1.
        letters: What the signs stand for. Their shapes are those of Helvetica.
    """
    mapped = "\n".join(f"<{97 + number:02x}> <{ord(letter):04x}>" for number, letter in enumerate(letters))
    unicode = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def "
        "1 begincodespacerange <00> <ff> endcodespacerange "
        f"{len(letters)} beginbfchar\n{mapped}\nendbfchar endcmap end end"
    )
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding /ToUnicode 6 0 R >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R "
        b"/Resources << /Font << /F1 3 0 R >> >> >>",
        *(
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(part), part)
            for part in (content.encode(), unicode.encode())
        ),
    ]
    return _pdf_written(objects, b"")


def pdf_with_fields(fields: Sequence[tuple[str, str]]) -> bytes:
    """Create a form with a line and a field beside it for each name and value.

    The value belongs to the field, and its place on the page is an object of its own, as some programs write it.
    """
    shown = "".join(
        f"BT /F1 12 Tf 72 {720 - 30 * number} Td ({name}:) Tj ET " for number, (name, _) in enumerate(fields)
    )
    kids = " ".join(f"{7 + 2 * number} 0 R" for number in range(len(fields)))
    listed = " ".join(f"{6 + 2 * number} 0 R" for number in range(len(fields)))
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [{listed}] >> >>".encode(),
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Annots [%s] "
        b"/Resources << /Font << /F1 3 0 R >> >> >>" % kids.encode(),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(shown), shown.encode()),
    ]
    for number, (_, value) in enumerate(fields):
        place, y = 7 + 2 * number, 716 - 30 * number
        objects += [
            f"<< /FT /Tx /T (f{number}) /V ({value}) /Kids [{place} 0 R] >>".encode(),
            f"<< /Type /Annot /Subtype /Widget /Parent {place - 1} 0 R /Rect [350 {y} 500 {y + 18}] /F 4 >>".encode(),
        ]
    return _pdf_written(objects, b"")


def _pdf_text(page: str) -> bytes:
    shown = "".join(f"({_pdf_escaped(line)}) Tj 0 -16 Td " for line in page.split("\n"))
    return f"BT /F1 12 Tf 72 720 Td {shown} ET".encode("latin-1")


def _pdf_picture(page: Image.Image) -> bytes:
    width, height = page.size
    scale = 540 / width
    matrix = f"{width * scale:.2f} 0 0 {height * scale:.2f} 36 {756 - height * scale:.2f} cm"
    head = f"q {matrix} BI /W {width} /H {height} /CS /G /BPC 8 /F /AHx ID "
    return head.encode() + page.convert("L").tobytes().hex().encode() + b"> EI Q"


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
