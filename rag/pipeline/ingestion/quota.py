"""What an organisation may store (Organization.max_chunks and max_bytes), and what it does (Usage)."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import F, OuterRef, Subquery, Sum, Value
from django.db.models.functions import Coalesce, Greatest

from orgs.models import Organization
from rag.errors import IndexFull
from rag.models import DataSource, Document, IngestionDocument, Original, Usage
from rag.models.ingestion.jobs import TEXT_BYTES

_OPEN = (IngestionDocument.State.QUEUED, IngestionDocument.State.RUNNING)


@dataclass(frozen=True, slots=True)
class _Most:
    """None: no limit."""

    chunks: int | None
    bytes: int | None


def size_of(text: str, original_id: uuid.UUID | None = None) -> int:
    """What a document counts: the bytes of its text, and of the file that it was sent as."""
    stored = Original.objects.filter(pk=original_id).values_list("size", flat=True).first() if original_id else None
    return (len(text) if text.isascii() else len(text.encode())) + (stored or 0)


def refuse_if_full(organization_id: uuid.UUID) -> None:
    """Before work is done that makes chunks. Raises IndexFull; not final: nothing is locked."""
    require_room(organization_id, chunks=1)


def require_room(organization_id: uuid.UUID, *, chunks: int = 0, bytes: int = 0) -> None:  # noqa: A002
    """Raises IndexFull if this much more is too much now; not final, likewise. What shrinks always fits."""
    most = _most(organization_id)
    if most.chunks is None and most.bytes is None:
        return
    used = Usage.objects.filter(pk=organization_id).first() or Usage()
    if most.chunks is not None and chunks > 0 and used.chunks + chunks > most.chunks:
        raise IndexFull(
            f"The organisation may have {most.chunks:,} chunks, and has no room for this. "
            "Delete something, or ask for more.",
            maxChunks=most.chunks,
        )
    if most.bytes is not None and bytes > 0 and used.bytes + bytes > most.bytes:
        raise _too_many_bytes(most.bytes, used.bytes)


def require_room_for(source: DataSource, sizes: Mapping[str, tuple[int, int]]) -> None:
    """The same for documents, path → (chunks, bytes): what they replace makes room for them."""
    if _most(source.organization_id) == _Most(None, None):
        return
    replaced = Document.objects.live().filter(source_id=source.pk, path__in=list(sizes))
    had = replaced.aggregate(chunks=Coalesce(Sum("chunk_count"), 0), bytes=Coalesce(Sum("bytes"), 0))
    chunks, size = (sum(each) for each in zip(*sizes.values(), strict=True))
    require_room(source.organization_id, chunks=chunks - had["chunks"], bytes=size - had["bytes"])


def require_room_for_open(organization_id: uuid.UUID) -> None:
    """Raises IndexFull if the bytes of the documents that wait or are at work, the caller's own among them, are too
    many. Exact: with such a limit, others who ask or write wait until the caller's transaction ends."""
    most = _most(organization_id).bytes
    if most is None:
        return
    _make_row(organization_id)
    used = Usage.objects.select_for_update().get(pk=organization_id)
    waiting = _growth_of_open(organization_id)
    if waiting > 0 and used.bytes + waiting > most:
        raise _too_many_bytes(most, used.bytes, waiting)


def make_room(organization_id: uuid.UUID, *, chunks: int, bytes: int) -> None:  # noqa: A002
    """Count what the caller's transaction has added or, with negative numbers, taken away. Raises IndexFull if it is
    too much: the transaction must be rolled back then.

    Once in a transaction, and its last statement but for an outcome: the organisation's other writers wait from here
    until it ends. Exact, because PostgreSQL looks at the condition again once a row that it waited for is free.
    """
    if not chunks and not bytes:
        return
    most = _most(organization_id)
    fitting = Usage.objects.filter(pk=organization_id)
    if most.chunks is not None and chunks > 0:
        fitting = fitting.filter(chunks__lte=most.chunks - chunks)
    if most.bytes is not None and bytes > 0:
        fitting = fitting.filter(bytes__lte=most.bytes - bytes)
    while not fitting.update(chunks=F("chunks") + chunks, bytes=F("bytes") + bytes):
        require_room(organization_id, chunks=chunks, bytes=bytes)  # passes if the row is missing, or room was made
        _make_row(organization_id)


def _most(organization_id: uuid.UUID) -> _Most:
    return _Most(*Organization.objects.values_list("max_chunks", "max_bytes").get(pk=organization_id))


def _make_row(organization_id: uuid.UUID) -> None:
    Usage.objects.bulk_create([Usage(organization_id=organization_id)], ignore_conflicts=True)


def _growth_of_open(organization_id: uuid.UUID) -> int:
    """The bytes of open documents, each without what it will replace."""
    replaced = Document.objects.live().filter(source=OuterRef("job__source"), path=OuterRef("path")).values("bytes")
    size = TEXT_BYTES + Coalesce(F("original__size"), Value(0)) - Coalesce(Subquery(replaced[:1]), Value(0))
    documents = IngestionDocument.objects.filter(
        state__in=_OPEN, job__source__organization=organization_id, job__source__deleted_at=None
    )
    return documents.aggregate(bytes=Sum(Greatest(size, Value(0))))["bytes"] or 0


def _too_many_bytes(most: int, used: int, waiting: int = 0) -> IndexFull:
    on_their_way = f" and {waiting:,} are on their way" if waiting else ""
    return IndexFull(
        f"The organisation may store {most:,} bytes; {used:,} are stored{on_their_way}, and there is no room for this. "
        "Delete something, or ask for more.",
        maxBytes=most,
    )
