"""The page of a document: its text, with the cited passage highlighted."""

import uuid
from dataclasses import dataclass

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from orgs.access.caller import get_caller
from rag.services.sources.reading import excerpts, page_pictures
from ragsite.postgres.models import as_uuid

from .base import page
from .rendering.cited_passages import page_label
from .rendering.direction_controls import show_overrides
from .rendering.document_text import TextBlock, divide_text, is_markdown


@dataclass(frozen=True, slots=True)
class _Range:
    """A range of characters that the query string names."""

    start: int
    end: int


@page
@require_safe
def show_document(request: HttpRequest, document_id: uuid.UUID) -> HttpResponse:
    """Show a part of the document's text: the one with the passage that the query string names, or the first."""
    chunk_id = as_uuid(request.GET.get("chunk", ""))
    part_number, marked = _number(request, "part", maximum=1_000_000), _marked_range(request)
    excerpt = excerpts.read_excerpt(
        get_caller(request), document_id, chunk_id=chunk_id, marked=(marked.start, marked.end), part=part_number
    )
    if part_number > excerpt.parts:
        raise Http404
    context = {
        "title": show_overrides(excerpt.document.title or excerpt.document.path),
        "document": excerpt.document,
        "excerpt": excerpt,
        "blocks": _divide(excerpt),
        "picture_url": _picture_url(request, excerpt),
        "pages": page_label(excerpt.first_page, excerpt.last_page),
    }
    return render(request, "pages/document.html", context)


@page
@require_safe
def show_page_picture(request: HttpRequest, document_id: uuid.UUID) -> HttpResponse:
    """Show the page of the passage that the query string names, as it is in the PDF."""
    marked = _marked_range(request)
    caller = get_caller(request)
    excerpt = excerpts.read_excerpt(
        caller, document_id, chunk_id=as_uuid(request.GET.get("chunk", "")), marked=(marked.start, marked.end)
    )
    return HttpResponse(page_pictures.get_page_picture(excerpt, caller), content_type="image/webp")


def _divide(excerpt: excerpts.Excerpt) -> dict[str, list[TextBlock]]:
    """Return the blocks before, in and after the cited passage; empty if the text is not Markdown."""
    if not is_markdown(excerpt.document.content_type):
        return {}
    start = len(excerpt.before)
    text = excerpt.before + excerpt.marked + excerpt.after
    blocks = divide_text(text, (start, start + len(excerpt.marked)))
    marked = [number for number, block in enumerate(blocks) if block.is_marked]
    first, end = (marked[0], marked[-1] + 1) if marked else (len(blocks), len(blocks))
    return {"before": blocks[:first], "passage": blocks[first:end], "after": blocks[end:]}


def _picture_url(request: HttpRequest, excerpt: excerpts.Excerpt) -> str:
    """Return the address of the picture of the cited page; empty if there is none."""
    if not page_pictures.has_page_picture(excerpt):
        return ""
    query = urlencode({name: request.GET[name] for name in ("chunk", "start", "end") if name in request.GET})
    return f"{reverse('page_picture', args=[excerpt.document.pk])}?{query}"


def _marked_range(request: HttpRequest) -> _Range:
    start, end = (_number(request, name, maximum=1_000_000_000) for name in ("start", "end"))
    return _Range(start, max(start, end))


def _number(request: HttpRequest, name: str, *, maximum: int) -> int:
    """Return a number from the query string; 0 if it is missing.

    Raises:
        BadRequest: If it is not a number from 0 to the maximum.
    """
    text = request.GET.get(name, "") or "0"
    if not (text.isascii() and text.isdigit()) or len(text) > 10 or int(text) > maximum:
        raise BadRequest(f"{name} must be a number.")
    return int(text)
