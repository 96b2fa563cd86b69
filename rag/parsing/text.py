"""Plain text."""

from rag.errors import ParseFailed
from rag.types import Parsed


def parse(content: str) -> Parsed:
    return Parsed(text=content)


def decode(data: bytes) -> str:
    """UTF-8 (with or without a byte-order mark), or UTF-16 with one. Raises ParseFailed for anything else."""
    try:
        decoded = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise ParseFailed(f"The file is not UTF-8 text (byte {error.start:,}). Save it as UTF-8.") from None
    if "\x00" in decoded:
        raise ParseFailed("The file contains NUL bytes, so it is not text.")
    return decoded
