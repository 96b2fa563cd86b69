"""Calendars (iCalendar, RFC 5545) and contacts (vCard, RFC 6350): a heading and lines of `Field: value` per entry."""

import html
import quopri
import re
from collections.abc import Iterable, Iterator, Sequence

from rag.parsing.encodings.decode_text import decode_text
from rag.parsing.markdown_builder import MarkdownBuilder
from rag.parsing.sandbox.limits import Limits
from rag.text.markup import html_tags
from rag.types import ParsedDocument

_LINE = re.compile(r"(?:[\w-]+\.)?(?P<name>[\w-]+)(?P<parameters>(?:;(?:\"[^\"]*\"|[^\":;])*)*):(?P<value>.*)", re.S)
_ESCAPED = re.compile(r"\\([\\;,nN])")
_COMMON_NAME = re.compile(r";CN=(?:\"([^\"]*)\"|([^;:\"]*))", re.I)
_HTML = re.compile(r"\s*<(?:p|div|span|ul|ol|b|a|br|html|body|table)\b", re.I)
_BLOCK_END = re.compile(r"<br ?/?>|</(?:p|div|li|tr|h[1-6])>", re.I)
_DATE = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?")
_ENTRIES = {"VEVENT", "VTODO", "VJOURNAL", "VCARD"}
# Data that nobody reads.
_IGNORED = {"PHOTO", "LOGO", "SOUND", "KEY", "UID", "PRODID", "REV", "VERSION", "DTSTAMP", "SEQUENCE", "CREATED"}
_IGNORED |= {"LAST-MODIFIED", "TRANSP", "N", "CLASS", "ATTACH"}
_LABELS = {
    "DTSTART": "Start", "DTEND": "End", "DUE": "Due", "TEL": "Phone", "EMAIL": "E-mail", "ADR": "Address",
    "ORG": "Organisation", "BDAY": "Birthday", "RRULE": "Repeats", "URL": "URL", "TITLE": "Title",
}  # fmt: skip


def read_calendar(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a calendar: events, tasks and notes with their summaries as headings."""
    return _read(content, heading="SUMMARY", title="X-WR-CALNAME")


def read_contacts(content: bytes, limits: Limits) -> ParsedDocument:
    """Read contacts with their names as headings."""
    return _read(content, heading="FN", title="")


def _read(content: bytes, *, heading: str, title: str) -> ParsedDocument:
    builder, names, declared_title = MarkdownBuilder(), [], ""
    for entry in _entries(decode_text(content)):
        name = _first_value(entry, heading) or _first_value(entry, "N").replace(";", " ")
        declared_title = declared_title or (_first_value(entry, title) if title else "")
        lines = [
            f"{_LABELS.get(field, field.capitalize())}: {value}"
            for field, value in entry
            if field not in _IGNORED and field != heading and value.strip() and not field.startswith("X-")
        ]
        if name:
            names.append(name)
            builder.add_heading(1, name)
        builder.add_paragraph("\n".join(lines))
    return builder.build(title=declared_title or (names[0] if len(names) == 1 else ""))


def _first_value(entry: Sequence[tuple[str, str]], field: str) -> str:
    return next((value for name, value in entry if name == field), "")


def _entries(text: str) -> Iterator[list[tuple[str, str]]]:
    """Yield the fields of the calendar itself, then those of each entry. Alarms and time zones are left out."""
    calendar_fields: list[tuple[str, str]] = []
    entries, open_parts = [calendar_fields], [""]
    for line in _unfold(text):
        match = _LINE.match(line)
        if not match:
            continue
        name, value = match["name"].upper(), match["value"]
        if name == "BEGIN":
            open_parts.append(value.strip().upper())
            if open_parts[-1] in _ENTRIES:
                entries.append([])
        elif name == "END":
            open_parts = open_parts[:-1] or [""]
        elif open_parts[-1] in _ENTRIES:
            entries[-1].append((name, _value(name, match["parameters"], value)))
        elif open_parts[-1] == "VCALENDAR" and name == "X-WR-CALNAME":
            calendar_fields.append((name, _value(name, "", value)))
    yield from entries


def _unfold(text: str) -> Iterator[str]:
    """Yield logical lines: a line that begins with a space continues the one before, as does a soft line break."""
    text = re.sub(r"\r?\n[ \t]", "", text)
    for line in _join_soft_breaks(text.split("\n")):
        yield from line.splitlines()


def _join_soft_breaks(lines: Iterable[str]) -> Iterator[str]:
    """Join a line in quoted-printable that ends with = with the next one."""
    parts: list[str] = []
    for line in (line.removesuffix("\r") for line in lines):
        is_quoted_printable = bool(parts) or "QUOTED-PRINTABLE" in line.partition(":")[0].upper()
        if is_quoted_printable and line.endswith("="):
            parts.append(line.removesuffix("="))
            continue
        yield "".join((*parts, line))
        parts = []
    yield "".join(parts)


def _value(name: str, parameters: str, value: str) -> str:
    if "QUOTED-PRINTABLE" in parameters.upper():
        value = quopri.decodestring(value.encode("utf-8", "replace")).decode("utf-8", "replace")
    if date := _DATE.fullmatch(value):
        year, month, day, hour, minute, zone = date.groups()
        return f"{year}-{month}-{day}" + (f" {hour}:{minute}{' UTC' if zone else ''}" if hour else "")
    if name in ("ADR", "ORG"):
        value = ", ".join(part for part in re.split(r"(?<!\\);", value) if part.strip())
    value = _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)
    if name == "DESCRIPTION" and _HTML.match(value):
        value = html.unescape(html_tags.remove_tags(_BLOCK_END.sub("\n", value))).strip()
    value = re.sub(r"^mailto:", "", value, flags=re.I)
    person = _COMMON_NAME.search(parameters)
    return f"{person[1] or person[2]} <{value}>" if person and (person[1] or person[2]) else value
