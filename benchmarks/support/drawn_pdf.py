"""Draws PDF files with a text layer: texts in several sizes, lines and tables, without a library."""

from collections.abc import Sequence
from dataclasses import dataclass

_FONTS = {False: "Helvetica", True: "Helvetica-Bold"}
WIDTH, HEIGHT, MARGIN = 595, 842, 56


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text. `x`, `y`: its beginning on the base line, in points from the lower left corner of the page."""

    x: float
    y: float
    text: str
    size: float = 10
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """A straight line between two points of the page."""

    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True, slots=True)
class Square:
    """A filled square. `x`, `y`: its lower left corner."""

    x: float
    y: float
    size: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A filled rectangle. `x`, `y`: its lower left corner. `gray`: from 0, black, to 1, white."""

    x: float
    y: float
    width: float
    height: float
    gray: float = 0


def draw(pages: Sequence[Sequence[Text | Rule | Square | Bar]], *, title: str = "") -> bytes:
    """Return a PDF with these pages. `title`: what the file declares as its title."""
    listed = " ".join(f"{6 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{listed}] /Count {len(pages)} >>".encode(),
        *(
            f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>".encode()
            for name in _FONTS.values()
        ),
        f"<< /Title ({_escaped(title)}) >>".encode("cp1252"),
    ]
    for number, items in enumerate(pages):
        content = "\n".join(map(_operators, items)).encode("cp1252")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] /Contents {7 + 2 * number} 0 R "
            "/Resources << /Font << /F0 3 0 R /F1 4 0 R >> >> >>".encode()
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    return _write(objects)


def _operators(item: Text | Rule | Square | Bar) -> str:
    if isinstance(item, Bar):
        return f"{item.gray:.2f} g {item.x:.2f} {item.y:.2f} {item.width:.2f} {item.height:.2f} re f 0 g"
    if isinstance(item, Square):
        return f"{item.x:.2f} {item.y:.2f} {item.size:.2f} {item.size:.2f} re f"
    if isinstance(item, Rule):
        return f"0.7 w {item.x1:.2f} {item.y1:.2f} m {item.x2:.2f} {item.y2:.2f} l S"
    font = f"/F{int(item.bold)} {item.size:.1f} Tf"
    return f"BT {font} {item.x:.2f} {item.y:.2f} Td ({_escaped(item.text)}) Tj ET"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _write(objects: Sequence[bytes]) -> bytes:
    written, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size, start = len(objects) + 1, len(written)
    head = b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R /Info 5 0 R >>\nstartxref\n%d\n%%%%EOF" % (size, start)
    return written + head + trailer
