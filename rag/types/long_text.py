"""A text of many megabytes, in little memory."""

import functools
from collections.abc import Iterable, Iterator

_BLOCK_CHARACTERS = 16 * 1024
# How many blocks are kept decoded: a reader goes through the text and looks a little ahead.
_DECODED_BLOCKS = 4
# How many characters are read at a time to find the ends of lines.
_READ_CHARACTERS = 256 * 1024


class LongText:
    """A text that is held in UTF-8. As a string it would take up to four bytes for each character.

    Parts are cut out as those of a string are: `text[start:end]`, in characters.
    """

    def __init__(self, parts: Iterable[str]) -> None:
        blocks: list[bytes] = []
        rest = ""
        for part in parts:
            rest += part
            starts = range(0, len(rest) - _BLOCK_CHARACTERS + 1, _BLOCK_CHARACTERS)
            blocks += [rest[start : start + _BLOCK_CHARACTERS].encode() for start in starts]
            rest = rest[len(starts) * _BLOCK_CHARACTERS :]
        self._length = len(blocks) * _BLOCK_CHARACTERS + len(rest)
        if rest:
            blocks.append(rest.encode())
        self._blocks = blocks
        self._decoded = functools.lru_cache(_DECODED_BLOCKS)(lambda number: blocks[number].decode())

    @property
    def utf8_bytes(self) -> int:
        """How many bytes the text has in UTF-8."""
        return sum(map(len, self._blocks))

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, part: slice) -> str:
        start, end, step = part.indices(self._length)
        if step != 1:
            raise ValueError("Only parts without gaps can be cut out.")
        if start >= end:
            return ""
        first = start // _BLOCK_CHARACTERS
        decoded = "".join(map(self._decoded, range(first, (end - 1) // _BLOCK_CHARACTERS + 1)))
        return decoded[start - first * _BLOCK_CHARACTERS : end - first * _BLOCK_CHARACTERS]


# The text of a document: one of many megabytes is a LongText.
DocumentText = str | LongText


def read_lines_in_parts(text: DocumentText) -> Iterator[str]:
    """Yield the text in parts of at most 262,144 characters that end where a line does, or else a word.

    A longer line or word is divided.
    """
    start = 0
    while part := text[start : start + _READ_CHARACTERS]:
        if start + len(part) < len(text):
            end = part.rfind("\n") + 1 or max(map(part.rfind, "\r ")) + 1
            part = part[: end or len(part)]
        yield part
        start += len(part)
