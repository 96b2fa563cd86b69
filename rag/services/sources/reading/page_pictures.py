"""Pictures of the pages of PDF and picture files with a cited passage marked, for those who may query the document."""

import hashlib
from collections.abc import Sequence

from django.core.cache import caches

from orgs.access.caller import Caller
from rag.errors import ParseFailed, StorageFailed, TooManyLongRequests, UnknownDocument
from rag.models import Document
from rag.models.content.line_boxes import unpack_line_boxes
from rag.parsing import formats
from rag.parsing.sandbox import parse_in_sandbox
from rag.providers import file_storage
from rag.providers.limits.expensive_work_limiter import SlotLimiter
from rag.types import LineBox

from .excerpts import Excerpt

# Pages of larger files are not drawn while somebody waits.
MAX_FILE_BYTES = 50 * 2**20
_DRAWN = formats.PICTURES | {formats.PDF}
# A passage is on few pages. Its words are looked for on this many of them.
_MAX_PAGES = 4
# Larger pictures are drawn again each time, so that those that are kept need little memory.
_MAX_KEPT_BYTES = 512 * 1024
# Drawing takes up to 15 seconds of a core, so that few pages are drawn at a time on a machine, for one account after
# the other.
_LIMITER = SlotLimiter("picture-slots", TooManyLongRequests)


def has_page_picture(excerpt: Excerpt) -> bool:
    """Return whether there may be a picture of the excerpt's page: its document is a PDF or picture with its file."""
    original = excerpt.document.original
    return (
        bool(excerpt.first_page and excerpt.marked)
        and excerpt.document.content_type in _DRAWN
        and original is not None
        and original.size <= MAX_FILE_BYTES
    )


def get_page_picture(excerpt: Excerpt, caller: Caller) -> bytes:
    """Return the picture of an excerpt's page, with its passage marked: a kept one, else one that is drawn now.

    Args:
        excerpt: What the caller has just read; so whether they may was just checked.
        caller: Who waits for the picture.

    Returns:
        A picture in the format WebP.

    Raises:
        UnknownDocument: If the page cannot be drawn.
        StorageFailed: If the server cannot write to its temporary folder.
        TooManyLongRequests: If too many pages wait to be drawn, or the caller waits for many answers already.
    """
    original = excerpt.document.original
    if not has_page_picture(excerpt) or original is None or excerpt.first_page is None:
        raise UnknownDocument
    pages = range(excerpt.first_page, (excerpt.last_page or excerpt.first_page) + 1)[:_MAX_PAGES]
    line_boxes = _find_line_boxes(excerpt, pages)
    cache, key = caches["page_pictures"], _key(f"{original.pk} {pages} {line_boxes} {excerpt.marked}")
    picture: bytes | None = cache.get(key)
    if picture is not None:
        return picture
    account = caller.user.pk or excerpt.document.source.organization_id
    with _LIMITER.admit(account, size=original.size), _LIMITER.slot():
        try:
            with file_storage.local_copy(original) as file:
                picture = parse_in_sandbox.draw_cited_page_in_sandbox(
                    file, excerpt.document.content_type, pages, excerpt.marked, line_boxes
                )
        except (ParseFailed, StorageFailed):
            raise UnknownDocument from None
    if len(picture) <= _MAX_KEPT_BYTES:
        cache.set(key, picture)
    return picture


def _find_line_boxes(excerpt: Excerpt, pages: Sequence[int]) -> list[LineBox]:
    """Return the boxes of the recognised lines that the marked range of the excerpt has text of."""
    document = excerpt.document
    stored = Document.objects.filter(pk=document.pk).values_list("line_boxes", flat=True).first()
    boxes = unpack_line_boxes(stored or b"", document.content_hash)
    return [box for box in boxes if box.start < excerpt.end and box.end > excerpt.start and box.page in pages]


def _key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
