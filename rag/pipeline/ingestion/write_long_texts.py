"""Writes long texts of documents in parts: as the value of a statement, a text would be in memory three times."""

import contextlib
from collections.abc import Iterator, Sequence

from django.db import connection

from rag.models import Document
from rag.providers.stores.binary_copy import copy
from rag.types import DocumentText, LongText

# Longer texts are written in parts of this many characters.
_PART_CHARACTERS = 1024 * 1024


@contextlib.contextmanager
def write_apart(documents: Sequence[Document]) -> Iterator[None]:
    """Let the block write the documents with an empty text if theirs is long, and then write that, in parts.

    It belongs into the transaction that the block is in, so that nobody sees the empty text.
    """
    texts: dict[Document, DocumentText] = {document: document.text for document in documents if _is_long(document.text)}
    try:
        for document in texts:
            document.text = ""
        yield
    finally:
        for document, text in texts.items():
            document.text = text  # type: ignore[assignment]  # the field is not written before it is replaced again
    for document, text in texts.items():
        _write(document, text)


def _is_long(text: DocumentText) -> bool:
    return isinstance(text, LongText) or len(text) > _PART_CHARACTERS


def _write(document: Document, text: DocumentText) -> None:
    """Store the text of a stored document."""
    parts = ((start, text[start : start + _PART_CHARACTERS]) for start in range(0, len(text), _PART_CHARACTERS))
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('pg_temp.staging_text') IS NULL")
        if cursor.fetchone()[0]:
            cursor.execute("CREATE TEMPORARY TABLE staging_text (start int, part text) ON COMMIT DELETE ROWS")
            cursor.execute("GRANT ALL ON pg_temp.staging_text TO PUBLIC")  # the next transaction may have another role
        copy("pg_temp.staging_text", {"start": "int4", "part": "text"}, parts)
        cursor.execute(
            "UPDATE rag_document SET text = (SELECT string_agg(part, '' ORDER BY start) FROM pg_temp.staging_text) "
            "WHERE id = %s",
            [document.pk],
        )
        if cursor.rowcount != 1:
            raise RuntimeError("The text of a document was not stored.")
        cursor.execute("DELETE FROM pg_temp.staging_text")
