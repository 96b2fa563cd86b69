"""The text by which a chunk is indexed: it is embedded, stemmed for BM25 and hashed."""

import hashlib
import uuid
from collections.abc import Sequence

# Bounded: under a very long title every small chunk would cost as much as a large one.
_MAX_TITLE_CHARACTERS = 150
_MAX_HEADINGS = 2


def embedded_text(text: str, headings: Sequence[str], title: str) -> str:
    """Return the chunk's text under its document's title and its last two headings, one per line.

    A passage alone often does not say what it is about. Lines that the beginning of the text repeats are left out.
    """
    lines = [line[:_MAX_TITLE_CHARACTERS] for line in (title, *headings[-_MAX_HEADINGS:])]
    context = [line for line in lines if line and line not in text[:200]]
    return "\n".join([*dict.fromkeys(context), text])


def digest(text: str, headings: Sequence[str], title: str) -> uuid.UUID:
    """Return 128 bits of SHA-256 over what is embedded and what is stored.

    Two chunks with the same digest can share a vector.
    """
    hashed = hashlib.sha256(embedded_text(text, headings, title).encode())
    hashed.update(len(text).to_bytes(8, "big"))  # where the title ends and the passage begins
    return uuid.UUID(bytes=hashed.digest()[:16])
