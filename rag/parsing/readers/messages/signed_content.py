"""The message within a signed one (S/MIME, CMS, RFC 5652), whose signature is not checked: only its text is read."""

# The content type id-data as DER: what follows it is the message.
_DATA = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01"
_CONTEXT_0, _OCTETS, _CONSTRUCTED_OCTETS = 0xA0, 0x04, 0x24
_MAX_PARTS = 100_000


def read_signed_content(content: bytes) -> bytes:
    """Return the signed bytes; empty if the message is encrypted, or not of this format.

    Args:
        content: The file smime.p7m, as DER or BER.
    """
    place = content.find(_DATA)
    if place < 0:
        return b""
    start = place + len(_DATA)
    if content[start : start + 1] != bytes([_CONTEXT_0]):
        return b""
    start, _ = _after_length(content, start + 1)
    parts = list[bytes]()
    while len(parts) < _MAX_PARTS and start + 1 < len(content):
        kind = content[start]
        if kind == _CONSTRUCTED_OCTETS:  # in parts, each with its own length
            start, _ = _after_length(content, start + 1)
            continue
        if kind != _OCTETS:
            break
        begin, length = _after_length(content, start + 1)
        parts.append(content[begin : begin + length])
        start = begin + length
        if length == 0 and not parts[-1]:
            break
    return b"".join(parts)


def _after_length(content: bytes, start: int) -> tuple[int, int]:
    """Return where a value starts, and its length: 0 if it ends with a mark."""
    first = content[start] if start < len(content) else 0
    if first < 0x80:
        return start + 1, first
    size = first - 0x80
    return start + 1 + size, int.from_bytes(content[start + 1 : start + 1 + size], "big")
