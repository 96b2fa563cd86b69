"""Parts of e-mails: those that Outlook packs, signed messages, reports on delivery, and what nobody reads."""

import struct
from email.message import EmailMessage

import pytest

from rag.errors import ParseFailed
from tests.parsing.conftest import Read

_MIXED = "From: a@example.com\nSubject: Plans\nMIME-Version: 1.0\nContent-Type: multipart/{kind}; boundary=b\n\n"


def _attribute(identifier: int, content: bytes) -> bytes:
    return struct.pack("<BII", 2, identifier, len(content)) + content + struct.pack("<H", sum(content) % 2**16)


def _winmail(*files: tuple[str, bytes]) -> bytes:
    packed = struct.pack("<IH", 0x223E9F78, 1) + _attribute(0x00069007, struct.pack("<II", 1252, 0))
    for name, content in files:
        packed += _attribute(0x00069002, b"\1\0") + _attribute(0x00018010, name.encode("cp1252") + b"\0")
        packed += _attribute(0x0006800F, content)
    return packed


def _with_winmail(content: bytes) -> bytes:
    mail = EmailMessage()
    mail["From"], mail["Subject"] = "ada@example.com", "Plans"
    mail.set_content("See below.")
    mail.add_attachment(content, maintype="application", subtype="ms-tnef", filename="winmail.dat")
    return mail.as_bytes()


def test_files_that_outlook_packed_are_attachments(read: Read) -> None:
    content = _winmail(("Stückliste.csv", "Teil;Menge\nTür;4\n".encode("cp1252")), ("a.txt", b"Bees hum."))
    text = read(_with_winmail(content), "a.eml").text
    assert "Attachments: Stückliste.csv, a.txt" in text
    assert "# Stückliste.csv\n\nTeil: Tür | Menge: 4" in text
    assert "# a.txt\n\nBees hum." in text


@pytest.mark.parametrize("cut", [5, 20, 60, 90])
def test_packed_files_that_are_cut_off_leave_the_message(read: Read, cut: int) -> None:
    content = _winmail(("a.txt", b"Bees hum."), ("b.txt", b"Wasps too."))
    assert "See below." in read(_with_winmail(content[:-cut]), "a.eml").text


def _der(tag: int, content: bytes) -> bytes:
    size = len(content).to_bytes(2, "big")
    return bytes([tag, 0x82]) + size + content


def _signed(content: bytes) -> bytes:
    mail = EmailMessage()
    mail["From"], mail["Subject"] = "ada@example.com", "Plans"
    mail.set_content(content, maintype="application", subtype="pkcs7-mime")
    return mail.as_bytes()


_DATA = bytes.fromhex("06092a864886f70d010701")
_SIGNED_TEXT = b"Content-Type: text/plain; charset=utf-8\r\n\r\nDie Bienen fliegen.\r\n"


@pytest.mark.parametrize(
    "octets",
    [_der(0x04, _SIGNED_TEXT), b"\x24\x80" + _der(0x04, _SIGNED_TEXT[:30]) + _der(0x04, _SIGNED_TEXT[30:]) + b"\0\0"],
    ids=["whole", "in parts"],
)
def test_a_message_within_its_signature_is_read(read: Read, octets: bytes) -> None:
    parsed = read(_signed(_der(0x30, _DATA + _der(0xA0, octets))), "a.eml")
    assert parsed.text == "Subject: Plans\nFrom: ada@example.com\n\nDie Bienen fliegen."
    assert parsed.title == "Plans"


def test_an_encrypted_message_says_what_to_do(read: Read) -> None:
    with pytest.raises(ParseFailed, match="Decrypt it"):
        read(_signed(_der(0x30, b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x03")), "a.eml")


def test_a_report_on_delivery_has_its_fields(read: Read) -> None:
    mail = _MIXED.format(kind="report") + (
        "--b\nContent-Type: text/plain\n\nNot delivered.\n--b\nContent-Type: message/delivery-status\n\n"
        "Reporting-MTA: dns; mx\n\nFinal-Recipient: rfc822; bo@example.com\nStatus: 5.1.1\n\n--b--\n"
    )
    text = read(mail.encode(), "a.eml").text
    assert "Reporting-MTA: dns; mx\n\nFinal-Recipient: rfc822; bo@example.com\nStatus: 5.1.1" in text


@pytest.mark.parametrize("media_type", ["text/css", "application/pgp-signature"])
def test_parts_that_nobody_reads_are_left_out(read: Read, media_type: str) -> None:
    mail = _MIXED.format(kind="related") + (
        "--b\nContent-Type: text/html\n\n<html><body><p>Bees hum.</p></body></html>\n--b\n"
        f"Content-Type: {media_type}\n\n"
        "body { color: teal }\n--b--\n"
    )
    text = read(mail.encode(), "page.mhtml").text
    assert text.endswith("Bees hum.")


def test_a_message_encrypted_with_pgp_says_what_to_do(read: Read) -> None:
    mail = _MIXED.format(kind="encrypted") + "--b\nContent-Type: application/pgp-encrypted\n\nVersion: 1\n--b--\n"
    with pytest.raises(ParseFailed, match="Decrypt it"):
        read(mail.encode(), "a.eml")
