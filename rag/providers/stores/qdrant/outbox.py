"""The outbox: which documents have changed since they were copied to Qdrant (docs/decisions/0070-qdrant.md)."""

import uuid
from collections.abc import Iterable, Sequence

import structlog
from django.db import connection, transaction

from rag.models import EmbeddingModel
from rag.models.content.index_outbox import IndexChange
from rag.models.content.pgvector_tables import EMBEDDING_TABLES
from ragsite.postgres.base import run_as_owner
from ragsite.postgres.locks import try_advisory_xact_lock

from . import points
from .client import ContentRefused, QdrantClient

logger = structlog.get_logger(__name__)

# How many documents are copied in one transaction, which holds their locks.
_BATCH = 50
_TABLES = ("rag_chunkterms", *(table._meta.db_table for table in EMBEDDING_TABLES.values()))
_WRITE_TRIGGERS = ("index_change_insert", "index_change_update")
_TRIGGERS = dict.fromkeys(_TABLES, (*_WRITE_TRIGGERS, "index_change_delete")) | {
    # Signatures are deleted with their chunk's terms and vectors.
    "rag_chunktokensignatures": _WRITE_TRIGGERS
}


def are_recorded() -> bool:
    """Return whether PostgreSQL records changes."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT rag_records_index_changes()")
        return bool(cursor.fetchone()[0])


def switch_recording(*, on: bool) -> None:
    """Begin or stop recording changes. Waits for transactions that are writing, and writers wait for it."""
    action = "ENABLE" if on else "DISABLE"
    with run_as_owner(), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '10s'")
        for table, triggers in _TRIGGERS.items():
            actions = ", ".join(f"{action} TRIGGER {trigger}" for trigger in triggers)
            cursor.execute(f"ALTER TABLE {connection.ops.quote_name(table)} {actions}")


def apply(client: QdrantClient, *, limit: int) -> int:
    """Copy the documents of up to `limit` changes, oldest first, and return how many changes are done.

    Documents that another process is copying are left to it, or to the next call, and those that Qdrant refuses are
    postponed.

    Raises:
        IndexUnavailable: If Qdrant does not answer. The changes remain.
    """
    rows = list(IndexChange.objects.order_by("pk").values_list("pk", "document_id")[:limit])
    changes: dict[uuid.UUID, list[int]] = {}
    for change_id, document_id in rows:
        changes.setdefault(document_id, []).append(change_id)
    return sum(_apply_batch(client, batch, changes) for batch in points.in_batches(list(changes), _BATCH))


def _apply_batch(client: QdrantClient, document_ids: Sequence[uuid.UUID], changes: dict[uuid.UUID, list[int]]) -> int:
    """Copy the documents, and return how many of their changes are done.

    If Qdrant refuses them, each is copied alone, so that one does not keep the others back.
    """
    try:
        with transaction.atomic():
            locked = copy(client, document_ids)
            # Those that were read before the copy. Later ones are of later changes.
            done = [change_id for document_id in locked for change_id in changes[document_id]]
            IndexChange.objects.filter(pk__in=done).delete()
            return len(done)
    except ContentRefused as error:
        if len(document_ids) > 1:
            return sum(_apply_batch(client, [pk], changes) for pk in document_ids)
        (document_id,) = document_ids
        logger.warning("index_copy_refused", document=str(document_id), reason=error.message)
        _postpone(document_id, changes[document_id])
        return 0


def _postpone(document_id: uuid.UUID, change_ids: Sequence[int] = ()) -> None:
    """Put a document behind all others that wait. A later sweep tries it again."""
    with transaction.atomic():
        IndexChange.objects.filter(pk__in=change_ids).delete()
        IndexChange.objects.create(document_id=document_id)


def copy(client: QdrantClient, document_ids: Iterable[uuid.UUID]) -> list[uuid.UUID]:
    """Copy the documents that no other process is copying, in the current transaction, and return their ids."""
    locked = [pk for pk in document_ids if try_advisory_xact_lock(f"qdrant/{pk}")]
    if locked:
        points.copy_documents(client, locked, EmbeddingModel.objects.order_by("pk"))
    return locked
