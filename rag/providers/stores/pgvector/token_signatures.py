"""Token signatures in a table of their own, read only for the few chunks that late interaction compares."""

import uuid
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from django.db import connection

from rag.models import Chunk
from rag.models.content.pgvector_tables import ChunkTokenSignatures
from rag.providers.stores.binary_copy import copy_with_rls
from rag.types.token_vectors import TokenSignatures
from ragsite.postgres.base import read_rows

_TABLE = ChunkTokenSignatures._meta.db_table
_READ = "SELECT chunk_id, signatures FROM rag_read_signatures(%s::uuid[])"
_COLUMNS = {"chunk_id": "uuid", "signatures": "bytea"}
# Size of the signature of a token: one bit per dimension.
_TOKEN_BYTES = 48


def read(chunk_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, TokenSignatures]:
    """Return chunk id → signatures, without chunks that have no signatures, in one query.

    A function in the database checks the caller's access once for all of them. They are received in PostgreSQL's
    binary format: as text, bytes are twice as long.
    """
    rows = read_rows(_READ, [list(chunk_ids)], binary=True)
    return {chunk_id: np.frombuffer(data, np.uint8).reshape(-1, _TOKEN_BYTES) for chunk_id, data in rows if len(data)}


def insert(signatures: Iterable[tuple[uuid.UUID, TokenSignatures]]) -> None:
    """Write the signatures of chunks that the same transaction has inserted."""
    copy_with_rls(_TABLE, _COLUMNS, ((chunk_id, of_chunk.tobytes()) for chunk_id, of_chunk in signatures))


def add_missing(signatures: Mapping[uuid.UUID, TokenSignatures]) -> int:
    """Write the signatures of existing chunks that have no signatures, and return for how many.

    Skips chunks that another transaction is deleting.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {_TABLE} (chunk_id, signatures) SELECT chunk.id, given.signatures "
            "FROM unnest(%s::uuid[], %s::bytea[]) AS given (id, signatures) "
            "JOIN rag_chunk AS chunk ON chunk.id = given.id "
            "FOR KEY SHARE OF chunk SKIP LOCKED ON CONFLICT DO NOTHING",
            [list(signatures), [of_chunk.tobytes() for of_chunk in signatures.values()]],
        )
        return int(cursor.rowcount)


def next_without(source_id: uuid.UUID, *, after: uuid.UUID, limit: int) -> tuple[list[uuid.UUID], uuid.UUID | None]:
    """Return the source's next chunks without signatures, and the last examined chunk, which is None at the end.

    It runs two index-only queries, whose time does not depend on the length of the chunks.
    """
    chunks = Chunk.objects.filter(source=source_id, pk__gt=after)
    ids = list(chunks.order_by("pk").values_list("pk", flat=True)[:limit])
    existing = set(ChunkTokenSignatures.objects.filter(chunk__in=ids).values_list("chunk_id", flat=True))
    return [chunk_id for chunk_id in ids if chunk_id not in existing], ids[-1] if ids else None
