"""The stored documents at the paths of submissions: which there are, and how writers of the same path wait."""

import functools
import uuid
from collections.abc import Iterable, Mapping

from django.db import transaction

from rag.models import DataSource, Document
from rag.types import IndexOutcome
from ragsite.postgres.base import read_rows
from ragsite.postgres.locks import advisory_xact_locks
from ragsite.postgres.replicas import positions

# Each half has an index of its own. Most documents are new, so their rows are looked for before they are read.
_STORED = """
SELECT path, id, revision, true FROM rag_document
WHERE source_id = %s AND path = ANY(%s) AND deleted_at IS NULL
UNION ALL SELECT path, id, revision, false FROM rag_document
WHERE source_id = %s AND path = ANY(%s) AND deleted_at IS NOT NULL
"""


def existing_paths(paths: Iterable[str], *, source: DataSource) -> set[str]:
    """Return the paths that have a document already. Nothing is locked, so this may change."""
    live = "SELECT path FROM rag_document WHERE source_id = %s AND path = ANY(%s) AND deleted_at IS NULL"
    return {path for (path,) in read_rows(live, [source.pk, list(paths)])}


def lock_documents(
    source: DataSource, revisions: Mapping[str, uuid.UUID]
) -> tuple[dict[str, Document], dict[str, IndexOutcome]]:
    """Lock the paths until the transaction ends. Each write begins with it.

    The locks are advisory locks, because a document that does not exist has no row to lock.

    Args:
        source: The data source of the documents.
        revisions: Path → revision of its submission.

    Returns:
        Path → live document, and the outcomes of the paths that have none and were deleted after their submission. Such
        a submission changes nothing, as if it had been written and then deleted.

    Raises:
        UnknownSource: If the source has been deleted.
        ModelChanged: If the source was switched to another embedding model.
    """
    source.lock_for_write()
    transaction.on_commit(functools.partial(positions.note_changed, source.organization_id))
    paths = list(revisions)
    advisory_xact_locks(f"{source.pk}/{path}" for path in paths)
    stored = read_rows(_STORED, [source.pk, paths] * 2)
    live_ids = [document_id for _, document_id, _, is_live in stored if is_live]
    live = Document.objects.filter(pk__in=live_ids).without_text() if live_ids else ()
    documents = {document.path: document for document in live}
    deleted = {
        path: IndexOutcome("unchanged", document_id, 0)
        for path, document_id, revision, is_live in stored
        if not is_live and path not in documents and revision > revisions[path]
    }
    return documents, deleted
