"""The stored documents at the paths of submissions: which there are, and how writers of the same path wait."""

import functools
import uuid
from collections.abc import Collection, Iterable, Mapping

from django.db import transaction

from rag.models import DataSource, Document
from rag.types import IndexOutcome
from ragsite.postgres.locks import advisory_xact_locks
from ragsite.postgres.replicas import positions


def existing_paths(paths: Iterable[str], *, source: DataSource) -> set[str]:
    """Return the paths that have a document already. Nothing is locked, so this may change."""
    live = Document.objects.live().filter(source=source, path__in=list(paths))
    return set(live.values_list("path", flat=True))


def lock_documents(source: DataSource, paths: Collection[str]) -> dict[str, Document]:
    """Lock the paths until the transaction ends, and return path → live document. Each write begins with it.

    The locks are advisory locks, because a document that does not exist has no row to lock.

    Raises:
        UnknownSource: If the source has been deleted.
        ModelChanged: If the source was switched to another embedding model.
    """
    source.lock_for_write()
    transaction.on_commit(functools.partial(positions.note_changed, source.organization_id))
    advisory_xact_locks(f"{source.pk}/{path}" for path in paths)
    live = Document.objects.live().filter(source=source, path__in=list(paths)).without_text()
    return {document.path: document for document in live}


def deleted_since(source: DataSource, revisions: Mapping[str, uuid.UUID]) -> dict[str, IndexOutcome]:
    """Return the outcome of the paths that were deleted after the submission with this revision.

    Such a submission changes nothing, as if it had been written and then deleted.
    """
    deleted = Document.objects.filter(source=source, path__in=list(revisions), deleted_at__isnull=False)
    return {
        path: IndexOutcome("unchanged", document_id, 0)
        for path, document_id, revision in deleted.values_list("path", "pk", "revision")
        if revision > revisions[path]
    }
