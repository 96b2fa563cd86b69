"""Recognises renamed items by their content: the document gets the new path, and nothing is embedded."""

import uuid
from pathlib import PurePosixPath

import structlog
from django.db import transaction
from django.utils import timezone

from rag.models import Chunk, Document, IngestionDocument, SyncItem, SyncRun
from rag.providers import provider_factory
from rag.providers.stores.store_writes import MetadataUpdate
from rag.text.indexed_text import digest
from ragsite.postgres.locks import advisory_xact_locks
from ragsite.postgres.models import new_revision

from . import runs
from .fetching import FetchedItem

logger = structlog.get_logger(__name__)


@transaction.atomic
def take_over_document(run: SyncRun, fetched: FetchedItem) -> bool:
    """Give a new item the document of an item that has disappeared and had the same content.

    Returns:
        Whether it has the document. If not, the item must be submitted.
    """
    item = fetched.item
    if item.document and item.document.deleted_at is None:
        return False
    same_content = SyncItem.objects.missing_in(run).filter(content_hash=fetched.sha256, submitted=None)
    for missing in same_content.exclude(document=None).exclude(pk=item.pk).order_by("pk")[:10]:
        # Another ending may mean another parser.
        if PurePosixPath(missing.path).suffix.lower() != PurePosixPath(item.path).suffix.lower():
            continue
        document_id = missing.document_id
        if document_id and _rename_document(
            document_id, path=missing.path, new_path=item.path, uri=fetched.uri, content_hash=fetched.sha256
        ):
            SyncItem.objects.filter(pk=missing.pk).delete()
            SyncItem.objects.filter(pk=item.pk).update(
                **fetched.state, document=document_id, handled_in=run.pk, error_code="", error_message=""
            )
            runs.increment(run, "renamed")
            return True
    return False


@transaction.atomic
def _rename_document(document_id: uuid.UUID, *, path: str, new_path: str, uri: str, content_hash: str) -> bool:
    """Rename the document, without checking permissions. A title that was the file's name changes with it.

    Args:
        document_id: The document.
        path: The path that it must have now.
        new_path: The path that it gets.
        uri: The address that citations link to.
        content_hash: The hash that its content must have.

    Returns:
        False if nothing was changed: the document is another one by now, the new path has a document, or a version of
        one of the two is in the queue.
    """
    live = Document.objects.live().select_related("source")
    document = live.without_text().filter(pk=document_id, path=path, content_hash=content_hash).first()
    if document is None:
        return False
    source = document.source
    source.lock_for_write(any_model=True)
    advisory_xact_locks([f"{source.pk}/{path}", f"{source.pk}/{new_path}"])
    in_queue = IngestionDocument.objects.filter(
        source=source, path__in=[path, new_path], state__in=IngestionDocument.OPEN_STATES
    )
    has_changed = not live.filter(pk=document_id, path=path, content_hash=content_hash).exists()
    if has_changed or in_queue.exists() or live.filter(source=source, path=new_path).exists():
        return False
    is_named_after_file = document.title == _file_name(path)
    values = {"path": new_path, "uri": uri, "revision": new_revision(), "updated_at": timezone.now()}
    if is_named_after_file:
        values["title"] = _file_name(new_path)
    Document.objects.filter(pk=document.pk).update(**values)
    for name, value in values.items():
        setattr(document, name, value)
    has_new_title = is_named_after_file and _file_name(path) != _file_name(new_path)
    provider_factory.chunk_store().update_metadata([MetadataUpdate(document, has_new_title=has_new_title)])
    if has_new_title:
        _keep_vectors(document)
    logger.info("document_renamed", document=str(document.pk), source=str(source.pk))
    return True


def _keep_vectors(document: Document) -> None:
    """Let the next version find the chunks' vectors under the new title, although they were embedded with the old."""
    chunks = list(Chunk.objects.filter(document=document).only("text", "headings"))
    for chunk in chunks:
        chunk.digest = digest(chunk.text, chunk.headings, document.title)
    Chunk.objects.bulk_update(chunks, ["digest"], batch_size=500)


def _file_name(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1]
