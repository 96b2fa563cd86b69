"""E-mails, and the OLE containers of Outlook and of older Office files."""

import struct
from collections.abc import Mapping
from email.message import EmailMessage


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
    entries = b"".join(
        struct.pack("<IIII", (tag << 16) | 0x1F, 6, len(text.encode("utf-16-le")) + 2, 0) for tag, text in texts.items()
    )
    return ole({**streams, "__properties_version1.0": b"\0" * 32 + entries})
