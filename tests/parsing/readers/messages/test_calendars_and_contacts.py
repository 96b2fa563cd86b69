"""Calendars and contacts."""

from rag.parsing import formats
from tests.parsing.conftest import Read


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
