"""Headers of mails in a text: `From: …`, `Date: …`, `Subject: …` on lines above each other, and the mail below.

Threads that are exported or copied have them above each mail; the subject is the title of what follows. The labels are
those of mail programs in English, German, French, Spanish, Italian, Portuguese and Dutch.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag.text.quantities.years import YEAR

_SUBJECTS = "Subject|Betreff|Objet|Asunto|Oggetto|Assunto|Onderwerp"
_SENDERS = "From|Von|De|Da|Van"
_DATES = "Date|Sent|Datum|Gesendet|Envoyé|Fecha|Enviado(?: el)?|Data|Inviato|Enviada|Verzonden"
_OTHERS = (
    "To|Cc|Bcc|Reply-To|Attachments?|Importance|An|Kopie|Antwort an|Anlagen?|À|Pour|Pièces jointes|Para|Adjuntos|A"
    "|Allegati|Anexos?|Aan|Bijlagen?"
)
# Marks of quotations (`> From: …`) and of emphasis (`*From:* …`, `**From:** …`) may be before and around a label.
_HEADER = re.compile(
    rf"(?:>[ ]?){{0,3}}\*{{0,2}}(?:(?P<subject>{_SUBJECTS})|(?P<sender>{_SENDERS})|(?P<date>{_DATES})|(?:{_OTHERS}))"
    r"\*{0,2}[ \u00a0]?:\*{0,2}(?:[ \t]+(?P<value>\S.*)|[ \t]*)"
)
_REPLY = re.compile(r"(?:(?:Re|Fwd?|AW|WG|Antw|TR|RV|RIF|I|RES|ENC)[ \u00a0]?(?:\[\d{1,3}\])?:[ \t]*)+", re.IGNORECASE)
# A timetable and a travel plan also have lines with From, To and Date, but neither an address nor a year.
_YEAR = re.compile(rf"(?<!\d){YEAR}(?!\d)")
_MIN_LINES = 3
_MAX_LINE_CHARACTERS, _MAX_TITLE_CHARACTERS = 1_000, 200


@dataclass(frozen=True, slots=True)
class MailHeader:
    """The header of a mail: its lines, the line of its subject, and the subject without `Re:`."""

    lines: range
    subject_line: int
    title: str


def find_mail_headers(lines: Sequence[str]) -> list[MailHeader]:
    """Return the headers of the mails in a text, in order: three lines or more, with a sender and a subject.

    One of them has an address or a date with its year, and below an empty line the mail follows.

    Args:
        lines: The lines of the text, without their ends.
    """
    headers, number = [], 0
    while number < len(lines):
        end = number
        while end < len(lines) and _match(lines[end]):
            end += 1
        header = _read_header(lines, range(number, end)) if end - number >= _MIN_LINES else None
        if header:
            headers.append(header)
        number = max(end, number + 1)
    return headers


def subject_of(text: str) -> str:
    """Return what a mail is about if a text is the line of its subject; empty otherwise."""
    match = _match(text)
    return _title(match) if match and match["subject"] else ""


def _read_header(lines: Sequence[str], numbers: range) -> MailHeader | None:
    matches = {number: match for number in numbers if (match := _match(lines[number]))}
    subject_line = next((number for number, match in matches.items() if match["subject"]), None)
    has_body = not "".join(lines[numbers.stop : numbers.stop + 1]).strip() and numbers.stop + 1 < len(lines)
    if subject_line is None or not has_body or not any(match["sender"] for match in matches.values()):
        return None
    values = [(match["value"] or "", bool(match["date"])) for match in matches.values()]
    if not any("@" in value or (is_date and _YEAR.search(value)) for value, is_date in values):
        return None
    title = _title(matches[subject_line])
    return MailHeader(numbers, subject_line, title) if title else None


def _match(line: str) -> re.Match[str] | None:
    return _HEADER.fullmatch(line.rstrip()) if len(line) <= _MAX_LINE_CHARACTERS else None


def _title(match: re.Match[str]) -> str:
    return _REPLY.sub("", match["value"] or "", count=1).strip(" \t\\")[:_MAX_TITLE_CHARACTERS]
