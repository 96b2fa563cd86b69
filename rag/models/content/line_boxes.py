"""Stores where the recognised lines of a document are: 20 bytes for each line, compressed.

They name the content that they belong to, because a worker of an older version replaces the text, but not the boxes.
"""

import hashlib
import struct
import zlib
from collections.abc import Iterable

from rag.types import LineBox

# Start, end, page; left, top, right and bottom as shares of _WHOLE.
_RECORD = struct.Struct("<III4H")
_WHOLE = 65_535
_CONTENT_BYTES = 16


def pack_line_boxes(boxes: Iterable[LineBox], content_hash: str) -> bytes:
    """Return the boxes in the form in which a document stores them; empty without boxes.

    Boxes come from a file that is not trusted. Those that are not on a page are left out.
    """
    records = [
        _RECORD.pack(box.start, box.end, box.page, *(round(edge * _WHOLE) for edge in _edges(box)))
        for box in boxes
        if 0 <= box.start < box.end < 2**32 and 0 < box.page < 2**32 and all(0 <= edge <= 1 for edge in _edges(box))
    ]
    return _digest(content_hash) + zlib.compress(b"".join(records)) if records else b""


def unpack_line_boxes(packed: bytes | memoryview, content_hash: str) -> list[LineBox]:
    """Return the boxes of a document, in the order of its text; none if they belong to another content."""
    if not packed or bytes(packed[:_CONTENT_BYTES]) != _digest(content_hash):
        return []
    return [
        LineBox(start, end, page, *(edge / _WHOLE for edge in edges))
        for start, end, page, *edges in _RECORD.iter_unpack(zlib.decompress(packed[_CONTENT_BYTES:]))
    ]


def _digest(content_hash: str) -> bytes:
    return hashlib.sha256(content_hash.encode()).digest()[:_CONTENT_BYTES]


def _edges(box: LineBox) -> tuple[float, float, float, float]:
    return box.left, box.top, box.right, box.bottom
