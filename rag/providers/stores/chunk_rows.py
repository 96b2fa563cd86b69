"""Writes the rows of the model Chunk for every store: texts and offsets are always in PostgreSQL."""

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.db import connection

from rag.models import Chunk
from rag.types import ChunkDraft

from .binary_copy import copy_with_rls
from .store_writes import DocumentVersion

_COLUMNS = {
    "id": "uuid", "source_id": "uuid", "document_id": "uuid", "position": "int4", "start": "int4", "end": "int4",
    "text": "text", "headings": "text[]", "tokens": "int4", "first_page": "int4", "last_page": "int4", "digest": "uuid",
}  # fmt: skip


def match_kept_rows(
    version: DocumentVersion, embedded_chunks: Iterable[tuple[uuid.UUID, uuid.UUID | None]]
) -> dict[int, uuid.UUID]:
    """Return the stored row that each unchanged chunk keeps.

    Args:
        version: The document's next version.
        embedded_chunks: The document's embedded chunks as (id, digest), in their order.

    Returns:
        Index of the chunk → id of its row.
    """
    free_ids: dict[uuid.UUID, list[uuid.UUID]] = {}
    for chunk_id, digest in embedded_chunks:
        if digest:
            free_ids.setdefault(digest, []).append(chunk_id)
    new_indexes = set(version.new_indexes)
    return {index: free_ids[digest].pop(0) for index, digest in enumerate(version.digests) if index not in new_indexes}


def insert_new(versions: Iterable[tuple[DocumentVersion, Sequence[uuid.UUID]]]) -> None:
    """Insert the new chunks of each version. The ids have the order of its `new_indexes`."""
    copy_with_rls(Chunk._meta.db_table, _COLUMNS, (row for version, ids in versions for row in _rows(version, ids)))


def _rows(version: DocumentVersion, chunk_ids: Iterable[uuid.UUID]) -> Iterator[tuple[object, ...]]:
    document = version.document
    for chunk_id, index in zip(chunk_ids, version.new_indexes, strict=True):
        draft = version.chunks[index]
        place = (chunk_id, document.source_id, document.pk, draft.position, draft.start, draft.end)
        pages = draft.pages or (None, None)
        yield (*place, draft.text, list(draft.headings), draft.tokens, *pages, version.digests[index])


def move_kept(chunks: Sequence[ChunkDraft], kept_rows: Mapping[int, uuid.UUID]) -> None:
    """Give the kept rows the positions, offsets, pages and headings that they have in the new version."""
    kept_chunks = [chunks[index] for index in kept_rows]
    pages = [chunk.pages or (None, None) for chunk in kept_chunks]
    columns: list[list[uuid.UUID] | list[int] | list[int | None] | list[str]] = [
        list(kept_rows.values()),
        [chunk.position for chunk in kept_chunks],
        [chunk.start for chunk in kept_chunks],
        [chunk.end for chunk in kept_chunks],
        [first for first, _ in pages],
        [last for _, last in pages],
        [json.dumps(chunk.headings) for chunk in kept_chunks],
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            'UPDATE rag_chunk AS old SET position = new.position, start = new.start, "end" = new.end_, '
            "first_page = new.first_page, last_page = new.last_page, headings = new.headings "
            "FROM (SELECT id, position, start, end_, first_page, last_page, "
            "ARRAY(SELECT jsonb_array_elements_text(path::jsonb)) AS headings FROM unnest(%s::uuid[], %s::int[], "
            "%s::int[], %s::int[], %s::int[], %s::int[], %s::text[]) "
            "AS row (id, position, start, end_, first_page, last_page, path)) AS new "
            "WHERE old.id = new.id AND "
            '(old.position, old.start, old."end", old.first_page, old.last_page, old.headings) IS DISTINCT FROM '
            "(new.position, new.start, new.end_, new.first_page, new.last_page, new.headings)",
            columns,
        )
