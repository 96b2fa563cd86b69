"""E-mails, and the OLE containers of Outlook and of older Office files."""

import struct
from collections.abc import Mapping, Sequence
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


Tree = Mapping[str, "bytes | Tree"]


_SECTOR, _MINI_SECTOR, _MIN_STREAM = 512, 64, 4096
_NO_PAGES: Mapping[int, int] = {}
_END, _TABLE_SECTOR, _FREE = 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFF


class _Sectors:
    """Contents in sectors of one size, and the table that says which sector follows which."""

    def __init__(self, size: int) -> None:
        self.size, self.data, self.table = size, b"", list[int]()

    def add(self, content: bytes) -> int:
        """Add a content and return its first sector."""
        start, count = len(self.table), -(-len(content) // self.size)
        if not count:
            return _END
        self.table += [*range(start + 1, start + count), _END]
        self.data += content.ljust(count * self.size, b"\0")
        return start

    def table_bytes(self) -> bytes:
        return struct.pack(f"<{len(self.table)}I", *self.table)


def ole(streams: Tree) -> bytes:
    """A compound file (version 3). `streams`: name → content of each stream, or what a storage contains."""
    sectors, mini_sectors = _Sectors(_SECTOR), _Sectors(_MINI_SECTOR)
    entries = [b""]

    def entry(name: str, kind: int, child: int, right: int, start: int, size: int) -> bytes:
        encoded = name.encode("utf-16-le")
        return struct.pack(
            "<64sHBBIII16sIQQIQ",
            encoded, len(encoded) + 2, kind, 1, _FREE, right, child, b"", 0, 0, 0, start, size,
        )  # fmt: skip

    def add(tree: Tree) -> int:
        """Add the entries of a storage, and return the number of the first one."""
        ordered = sorted(tree, key=lambda name: (len(name), name.upper()))
        first = len(entries)
        entries.extend(b"" for _ in ordered)
        for number, name in enumerate(ordered, first):
            content, right = tree[name], number + 1 if name != ordered[-1] else _FREE
            if isinstance(content, bytes):
                start = (sectors if len(content) >= _MIN_STREAM else mini_sectors).add(content)
                entries[number] = entry(name, 2, _FREE, right, start, len(content))
            else:
                entries[number] = entry(name, 1, add(content), right, 0, 0)
        return first if ordered else _FREE

    child = add(streams)
    entries[0] = entry("Root Entry", 5, child, _FREE, sectors.add(mini_sectors.data), len(mini_sectors.data))
    directory = sectors.add(b"".join(entries).ljust(-(-len(entries) // 4) * _SECTOR, b"\0"))
    mini_table = mini_sectors.table_bytes()
    mini_table_start = sectors.add(mini_table.ljust(-(-len(mini_table) // _SECTOR) * _SECTOR, b"\xff"))
    fat_sectors = 1
    while len(sectors.table) + fat_sectors > fat_sectors * _SECTOR // 4:
        fat_sectors += 1
    places = range(len(sectors.table), len(sectors.table) + fat_sectors)
    sectors.table += [_TABLE_SECTOR] * fat_sectors
    header = struct.pack(
        "<8s16sHHHHH6sIIIIIIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 0x3E, 3, 0xFFFE, 9, 6, b"",
        0, fat_sectors, directory, 0, _MIN_STREAM, mini_table_start, -(-len(mini_table) // _SECTOR), _END, 0,
    ) + struct.pack("<109I", *places, *[_FREE] * (109 - fat_sectors))  # fmt: skip
    return header + sectors.data + sectors.table_bytes().ljust(fat_sectors * _SECTOR, b"\xff")


def msg(
    subject: str, body: str, sender: str, attachments: Sequence[Tree] = (), *, code_pages: Mapping[int, int] = _NO_PAGES
) -> bytes:
    """An Outlook message. `attachments`: see `msg_file` and `msg_message`; `code_pages`: values of the properties."""
    return ole(_msg_storage(subject, body, sender, attachments, header_bytes=32, code_pages=code_pages))


def _msg_storage(
    subject: str,
    body: str,
    sender: str,
    attachments: Sequence[Tree],
    *,
    header_bytes: int,
    code_pages: Mapping[int, int] = _NO_PAGES,
) -> Tree:
    texts = {0x0037: subject, 0x1000: body, 0x0C1F: sender, 0x001A: "IPM.Note"}
    streams = _utf_16(texts)
    entries = b"".join(
        struct.pack("<IIII", (tag << 16) | 0x1F, 6, len(text.encode("utf-16-le")) + 2, 0) for tag, text in texts.items()
    )
    sent = struct.pack("<IIQ", 0x00390040, 6, 133_549_866_000_000_000)  # 15 March 2024, 14:30 UTC
    pages = b"".join(struct.pack("<IIQ", (tag << 16) | 3, 6, page) for tag, page in code_pages.items())
    return {
        **streams,
        "__properties_version1.0": b"\0" * header_bytes + entries + sent + pages,
        **{f"__attach_version1.0_#{number:08X}": attachment for number, attachment in enumerate(attachments)},
    }


def msg_file(name: str | bytes, content: bytes, *, mime_type: str = "", hidden: bool = False) -> Tree:
    """A file that is attached to an Outlook message. Its name is in UTF-16, or as the bytes are."""
    long_name = {"__substg1.0_3707001E": name} if isinstance(name, bytes) else _utf_16({0x3707: name})
    flags = struct.pack("<IIQ", 0x7FFE000B, 6, 1) if hidden else b""
    return {
        "__properties_version1.0": b"\0" * 8 + flags,
        "__substg1.0_37010102": content,
        **long_name,
        **_utf_16({0x370E: mime_type}),
    }


def _utf_16(texts: Mapping[int, str]) -> Mapping[str, bytes]:
    return {f"__substg1.0_{tag:04X}001F": text.encode("utf-16-le") for tag, text in texts.items()}


def msg_message(subject: str, body: str, sender: str, attachments: Sequence[Tree] = (), *, to: str = "") -> Tree:
    """A message that is attached to an Outlook message."""
    inner = {**_msg_storage(subject, body, sender, attachments, header_bytes=24), **_utf_16({0x0E04: to})}
    return {"__properties_version1.0": b"\0" * 8, "__substg1.0_3701000D": inner}
