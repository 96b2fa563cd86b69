"""What the number formats of a workbook add to its numbers, which xberg leaves out: 0.19 is shown as 19%, 5 as 5 €."""

import io
import re
import zipfile
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from xml.sax.saxutils import escape

from lxml import etree

from rag.parsing.readers.office.prepare_for_xberg import replace_members

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
_CELL = re.compile(
    rb"<c ([^<>]{1,300})>\s{0,40}(?:<f[^<>]{0,300}(?:/>|>[^<>]{0,10000}</f>)\s{0,40})?<v>([^<>]{1,40})</v>\s{0,40}</c>",
)
_ATTRIBUTES = re.compile(rb"\b([rst])=\"(\w{1,20})\"")
# The parts of a format: texts and a currency, what is not shown (colours, conditions, white space), places of digits.
_PART = re.compile(
    r"\"(?P<quoted>[^\"]*)\"|\\(?P<escaped>.)|\[\$(?P<currency>[^\]-]*)[^\]]*\]|(?P<condition>\[[<>=][^\]]*\])"
    r"|(?P<hidden>\[[^\]]*\]|[_*].)|(?P<digits>[#0?](?:[#0?,]*[#0?])?(?:\.(?P<places>[#0?]*))?(?P<scale>,*))"
    r"|(?P<sign>.)",
    re.DOTALL,
)
_BEFORE_AND_BEHIND = 2
_BUILT_IN = {"9": "0%", "10": "0.00%"}
_MAX_FORMAT, _MAX_FORMATS, _MAX_PLACES = 200, 10_000, 10
# Of dates, times, texts, fractions and powers of ten.
_OTHERS = re.compile(r"[ymdhsge@/]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How a number is shown.

    Attributes:
        before: What is before it.
        behind: What is behind it.
        places: Its decimal places.
        exponent: The power of ten by which it is multiplied: 2 for a share of 1, -3 for thousands.
        has_others: Whether numbers below zero are shown with other words.
    """

    before: str
    behind: str
    places: int
    exponent: int = 0
    has_others: bool = False

    @property
    def words(self) -> str:
        """The letters that are shown."""
        return "".join(filter(str.isalpha, self.before + self.behind))

    def show(self, value: str) -> str:
        """Return a number as it is shown; empty if it is none, or if it may be shown with other words.

        Args:
            value: The number as it is stored.
        """
        try:
            number = Decimal(value).scaleb(self.exponent)
            rounded = number.quantize(Decimal(1).scaleb(-self.places), ROUND_HALF_UP)
        except InvalidOperation:
            return ""
        is_other = not rounded.is_finite() or (number < 0 and self.has_others)  # "down 5%" is not "up -5%"
        return "" if is_other else f"{self.before}{rounded:f}{self.behind}"


def read_format(code: str) -> NumberFormat | None:
    """Return what a format adds to a number; None if it adds nothing, or shows something else, such as a date.

    Args:
        code: The format as workbooks store it: `#,##0.00 [$€-407]`.
    """
    texts, places, exponent, others = [""], 0, 0, ""
    for part in _PART.finditer(code[:_MAX_FORMAT]):
        if part["sign"] == ";":  # the format of negative numbers follows
            others = code[part.end() :].split(";")[0]
            break
        if part["digits"]:
            texts.append("")
            places = len(part["places"] or "")
            exponent -= 3 * len(part["scale"])
        elif part["condition"] or (part["sign"] and _OTHERS.match(part["sign"])):
            return None
        elif not part["hidden"]:
            texts[-1] += part["quoted"] or part["escaped"] or part["currency"] or part["sign"] or ""
            exponent += 2 if part["sign"] == "%" else 0
    is_added = any(character.isalpha() or character in "%€$£¥₹₽₺" for text in texts for character in text)
    if len(texts) != _BEFORE_AND_BEHIND or not is_added:
        return None
    shown = NumberFormat(texts[0], texts[1], min(places, _MAX_PLACES), exponent)
    below = read_format(others) if others else None
    return replace(shown, has_others=bool(shown.words and others and (below is None or below.words != shown.words)))


def show_numbers(content: bytes) -> bytes:
    """Return a workbook of Excel whose numbers are texts where their format adds something to them."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        styles = _read_styles(archive.read("xl/styles.xml")) if "xl/styles.xml" in archive.namelist() else {}
        if not styles:
            return content
        sheets = {name: archive.read(name) for name in archive.namelist() if _SHEET.fullmatch(name)}
    changed = {name: _CELL.sub(lambda cell: _format_cell(cell, styles), sheet) for name, sheet in sheets.items()}
    changed = {name: sheet for name, sheet in changed.items() if sheet != sheets[name]}
    return replace_members(content, changed) if changed else content


def _read_styles(part: bytes) -> dict[bytes, NumberFormat]:
    """Return the formats that add something, by the number of the style of a cell."""
    try:
        root = etree.fromstring(part, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
    except etree.XMLSyntaxError:  # xberg says what is wrong with the file
        return {}
    codes = _BUILT_IN | {
        element.get("numFmtId", ""): element.get("formatCode", "") for element in root.iter(f"{_MAIN}numFmt")
    }
    cells = root.find(f"{_MAIN}cellXfs")
    styles = [codes.get(style.get("numFmtId", ""), "") for style in cells] if cells is not None else []
    known = {code: read_format(code) for code in dict.fromkeys(styles[:_MAX_FORMATS])}
    formats = ((number, known[code]) for number, code in enumerate(styles[:_MAX_FORMATS]))
    return {str(number).encode(): shown for number, shown in formats if shown}


def _format_cell(cell: re.Match[bytes], styles: dict[bytes, NumberFormat]) -> bytes:
    """Return a cell with the text that its number format shows; unchanged if the format adds nothing."""
    attributes = dict(_ATTRIBUTES.findall(cell[1]))
    number_format = styles.get(attributes.get(b"s", b"0"))
    if number_format is None or attributes.get(b"t", b"n") != b"n":
        return cell[0]
    text = number_format.show(cell[2].decode("ascii", "replace"))
    place = attributes.get(b"r", b"")
    return b'<c r="%s" t="inlineStr"><is><t>%s</t></is></c>' % (place, escape(text).encode()) if text else cell[0]
