"""The quota of an organisation (Organization.max_chunks and max_bytes), and how much of it is used (Usage)."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import F, OuterRef, Subquery, Sum, Value
from django.db.models.functions import Coalesce, Greatest
from django.utils.translation import gettext

from rag.errors import IndexFull
from rag.models import DataSource, Document, IngestionDocument, Original, Usage
from rag.models.ingestion.jobs import HAS_INPUT, TEXT_BYTES
from rag.types import DocumentText, LongText
from ragsite.postgres.base import read_rows

_OPEN_STATES = (IngestionDocument.State.QUEUED, IngestionDocument.State.RUNNING)
# How much of a long text is encoded at a time.
_ENCODED_CHARACTERS = 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Quota:
    """The limits of an organisation; None means unlimited."""

    chunks: int | None
    bytes: int | None


def document_size(text: DocumentText, original_id: uuid.UUID | None = None) -> int:
    """Return the size that the quota counts for a document: the bytes of its text in UTF-8 and of its uploaded file."""
    stored = Original.objects.filter(pk=original_id).values_list("size", flat=True).first() if original_id else None
    return _utf8_size(text) + (stored or 0)


def _utf8_size(text: DocumentText) -> int:
    """Return how many bytes the text has in UTF-8. A long text is not encoded as a whole, which would be a copy."""
    if isinstance(text, LongText):
        return text.utf8_bytes
    if text.isascii():
        return len(text)
    starts = range(0, len(text), _ENCODED_CHARACTERS)
    return sum(len(text[start : start + _ENCODED_CHARACTERS].encode()) for start in starts)


def check_not_full(organization_id: uuid.UUID) -> None:
    """Check, before any work is done, that the organisation may have another chunk. Nothing is locked.

    Raises:
        IndexFull: If the quota is used up.
    """
    check_quota(organization_id, chunks=1)


def check_quota(organization_id: uuid.UUID, *, chunks: int = 0, bytes: int = 0) -> None:  # noqa: A002
    """Check that the organisation may store this much more now. Nothing is locked, so this may change.

    Args:
        organization_id: The organisation.
        chunks: The increase of the number of chunks; a decrease is always allowed.
        bytes: The increase of the number of bytes; a decrease is always allowed.

    Raises:
        IndexFull: If the quota would be exceeded.
    """
    quota = _get_quota(organization_id)
    if quota.chunks is None and quota.bytes is None:
        return
    usage = Usage.objects.filter(pk=organization_id).first() or Usage()
    if quota.chunks is not None and chunks > 0 and usage.chunks + chunks > quota.chunks:
        raise IndexFull(
            gettext(
                "The organisation's limit of {maximum} chunks would be exceeded. "
                "Delete documents, or ask for a higher limit."
            ).format(maximum=intcomma(quota.chunks)),
            maxChunks=quota.chunks,
        )
    if quota.bytes is not None and bytes > 0 and usage.bytes + bytes > quota.bytes:
        raise _bytes_exceeded(quota.bytes, usage.bytes)


def check_quota_of_documents(source: DataSource, sizes: Mapping[str, tuple[int, int]]) -> None:
    """Check that the organisation may store these documents in place of the versions that they replace.

    Args:
        source: The data source of all documents.
        sizes: Path → (chunks, bytes).

    Raises:
        IndexFull: If the quota would be exceeded.
    """
    if _get_quota(source.organization_id) == _Quota(chunks=None, bytes=None):
        return
    replaced = Document.objects.live().filter(source_id=source.pk, path__in=list(sizes))
    old = replaced.aggregate(chunks=Coalesce(Sum("chunk_count"), 0), bytes=Coalesce(Sum("bytes"), 0))
    new_chunks, new_bytes = (sum(values) for values in zip(*sizes.values(), strict=True))
    check_quota(source.organization_id, chunks=new_chunks - old["chunks"], bytes=new_bytes - old["bytes"])


def check_quota_of_open_documents(organization_id: uuid.UUID) -> None:
    """Check that all queued and running documents, including those of the current transaction, fit in the quota.

    The check is exact: if bytes are limited, other callers and writers wait until the current transaction ends. The
    inputs of failed documents, which are kept for a retry, use what is left; the oldest are deleted first.

    Raises:
        IndexFull: If the documents do not fit.
    """
    max_bytes = _get_quota(organization_id).bytes
    if max_bytes is None:
        return
    _create_usage(organization_id)
    usage = Usage.objects.select_for_update().get(pk=organization_id)
    open_bytes = _open_bytes(organization_id)
    if open_bytes > 0 and usage.bytes + open_bytes > max_bytes:
        raise _bytes_exceeded(max_bytes, usage.bytes, open_bytes)
    _delete_oldest_failed_inputs(organization_id, max_bytes=max_bytes - usage.bytes - open_bytes)


def update_usage(organization_id: uuid.UUID, *, chunks: int, bytes: int) -> None:  # noqa: A002
    """Add the chunks and bytes that the current transaction has written to the usage, or subtract deleted ones.

    Call it once per transaction, and as late as possible: the organisation's other writers wait from here until the
    transaction ends. The check of the quota is exact, because PostgreSQL checks the condition of an UPDATE again after
    waiting for a row.

    Args:
        organization_id: The organisation.
        chunks: The number of added chunks; negative for removed chunks.
        bytes: The number of added bytes; negative for removed bytes.

    Raises:
        IndexFull: If the quota is exceeded, and the transaction must be rolled back.
    """
    if not chunks and not bytes:
        return
    quota = _get_quota(organization_id)
    usage = Usage.objects.filter(pk=organization_id)
    if quota.chunks is not None and chunks > 0:
        usage = usage.filter(chunks__lte=quota.chunks - chunks)
    if quota.bytes is not None and bytes > 0:
        usage = usage.filter(bytes__lte=quota.bytes - bytes)
    while not usage.update(chunks=F("chunks") + chunks, bytes=F("bytes") + bytes):
        check_quota(organization_id, chunks=chunks, bytes=bytes)  # passes if the row is missing or usage has shrunk
        _create_usage(organization_id)


def _get_quota(organization_id: uuid.UUID) -> _Quota:
    (limits,) = read_rows("SELECT max_chunks, max_bytes FROM orgs_organization WHERE id = %s", [organization_id])
    return _Quota(*limits)


def _create_usage(organization_id: uuid.UUID) -> None:
    Usage.objects.bulk_create([Usage(organization_id=organization_id)], ignore_conflicts=True)


def _open_bytes(organization_id: uuid.UUID) -> int:
    """Return how many bytes queued and running documents will add, less the bytes of the versions that they replace."""
    replaced = Document.objects.live().filter(source=OuterRef("job__source"), path=OuterRef("path")).values("bytes")
    size = TEXT_BYTES + Coalesce(F("original__size"), Value(0)) - Coalesce(Subquery(replaced[:1]), Value(0))
    documents = IngestionDocument.objects.filter(
        state__in=_OPEN_STATES, job__source__organization=organization_id, job__source__deleted_at=None
    )
    total: int = documents.aggregate(bytes=Sum(Greatest(size, Value(0))))["bytes"] or 0
    return total


def _delete_oldest_failed_inputs(organization_id: uuid.UUID, *, max_bytes: int) -> None:
    failed = IngestionDocument.objects.filter(
        HAS_INPUT, state=IngestionDocument.State.FAILED, job__source__organization=organization_id
    )
    total, excess_ids = 0, []
    newest_first = failed.order_by("-finished_at", "-pk")
    for document_id, size in newest_first.values_list("pk", TEXT_BYTES + Coalesce(F("original__size"), Value(0))):
        total += size
        if total > max_bytes:
            excess_ids.append(document_id)
    if excess_ids:
        IngestionDocument.objects.filter(pk__in=excess_ids, state=IngestionDocument.State.FAILED).update(
            text="", original=None
        )


def _bytes_exceeded(max_bytes: int, used: int, queued: int = 0) -> IndexFull:
    text = (
        gettext(
            "The organisation's limit of {maximum} bytes would be exceeded: {used} are stored and {queued} are in the "
            "queue. Delete documents, or ask for a higher limit."
        )
        if queued
        else gettext(
            "The organisation's limit of {maximum} bytes would be exceeded: {used} are stored. "
            "Delete documents, or ask for a higher limit."
        )
    )
    text = text.format(maximum=intcomma(max_bytes), used=intcomma(used), queued=intcomma(queued))
    return IndexFull(text, maxBytes=max_bytes)
