"""Calendars and contacts."""

from rag.parsing import formats
from rag.parsing.readers.messages.calendars_and_contacts import read_calendar
from rag.parsing.sandbox.limits import Limits
from tests.parsing.conftest import Read
from tests.support.checks.growth import takes_linear_time

_LIMITS = Limits(timeout_seconds=60, memory_bytes=2**30, text_bytes=2**28)


def test_calendars_are_lists_of_events(read: Read) -> None:
    calendar = (
        "BEGIN:VCALENDAR\r\nX-WR-CALNAME:Board\r\nBEGIN:VTIMEZONE\r\nTZID:X\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT\r\n"
        "SUMMARY:Meeting\\, yearly\r\nDTSTART;TZID=Europe/Berlin:20240305T100000\r\nDESCRIPTION:First\\nsec\r\n ond\r\n"
        "ATTENDEE;CN=Ada:mailto:ada@example.com\r\nBEGIN:VALARM\r\nDESCRIPTION:no\r\nEND:VALARM\r\nEND:VEVENT\r\n"
        "END:VCALENDAR\r\n"
    )
    parsed = read(calendar.encode(), "a")
    assert parsed.text == (
        "# Meeting, yearly\n\nStart: 2024-03-05 10:00\nDescription: First\nsecond\nAttendee: Ada <ada@example.com>"
    )
    assert (parsed.title, parsed.media_type) == ("Board", formats.ICS)


def test_contacts_have_their_fields_but_no_pictures(read: Read) -> None:
    card = (
        "BEGIN:VCARD\nVERSION:2.1\nN:Lovelace;Ada\nFN:Ada Lovelace\nADR;HOME:;;1 Street;London;;N1;UK\n"
        "item1.NOTE;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:K=C3=B6ln =\nloves bees\nPHOTO;ENCODING=b:AAAA\n BBBB\n"
        "END:VCARD\n"
    )
    parsed = read(card.encode(), "a.vcf")
    assert parsed.text == "# Ada Lovelace\n\nAddress: 1 Street, London, N1, UK\nNote: Köln loves bees"
    assert parsed.title == "Ada Lovelace"


def test_descriptions_in_html_are_read_as_text(read: Read) -> None:
    event = "BEGIN:VEVENT\nSUMMARY:Board\nDESCRIPTION:<p>Agenda&nbsp;2:</p><ul><li>Budget</li></ul>\nEND:VEVENT\n"
    parsed = read(f"BEGIN:VCALENDAR\n{event}END:VCALENDAR\n".encode(), "a.ics")
    assert parsed.text == "# Board\n\nDescription: Agenda 2:\nBudget"


def test_soft_line_breaks_end_with_their_line(read: Read) -> None:
    lines = ("SUMMARY;ENCODING=quoted-printable:K=C3=", "=B6ln =", "am Rhein", "LOCATION:a =", "PRIORITY:1")
    event = "\r\n".join(("BEGIN:VCALENDAR", "BEGIN:VEVENT", *lines, "END:VEVENT", "END:VCALENDAR"))
    assert read(event.encode(), "a.ics").text == "# Köln am Rhein\n\nLocation: a =\nPriority: 1"


def test_a_line_that_names_quoted_printable_often_takes_linear_time() -> None:
    def text_of(length: int, number: int) -> bytes:
        name = b"QUOTED-PRINTABLE"
        return b"BEGIN:VEVENT\nSUMMARY:%d\n%s\nEND:VEVENT\n" % (number, name * (length // len(name)))

    assert takes_linear_time(lambda content: read_calendar(content, _LIMITS), text_of, 200_000)
