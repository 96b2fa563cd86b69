"""How many chunks an organisation may have (Organization.max_chunks)."""

import uuid

from django.db.models import Sum

from orgs.models import Organization
from rag.errors import IndexFull
from rag.models import Document
from ragsite.db import take_turn


def refuse_if_full(organization_id: uuid.UUID) -> None:
    """Before work is done that could not be stored. Raises IndexFull; not final: nothing is locked."""
    most = _most(organization_id)
    if most is not None and _used(organization_id) >= most:
        raise _full(most)


def make_room(organization_id: uuid.UUID, *, growth: int) -> None:
    """Raises IndexFull if `growth` more chunks are too many.

    With a quota, the organisation's other writers wait until the caller's transaction ends, so that their sum counts.
    """
    most = _most(organization_id)
    if most is None or growth <= 0:
        return
    take_turn(f"quota/{organization_id}")
    if _used(organization_id) + growth > most:
        raise _full(most)


def _most(organization_id: uuid.UUID) -> int | None:
    return Organization.objects.values_list("max_chunks", flat=True).get(pk=organization_id)


def _used(organization_id: uuid.UUID) -> int:
    """What was deleted does not count, though its rows may not be purged yet."""
    counted = Document.objects.live().filter(source__organization=organization_id, source__deleted_at=None)
    return counted.aggregate(chunks=Sum("chunk_count"))["chunks"] or 0


def _full(most: int) -> IndexFull:
    return IndexFull(
        f"The organisation may have {most:,} chunks, and has no room for this. Delete something, or ask for more.",
        maxChunks=most,
    )
