"""The admin of documents."""

import contextlib
from collections.abc import Mapping, Sequence

from django.contrib import admin
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Model, QuerySet, Sum
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.audit import events
from accounts.audit.events import AuditAction, AuditObject
from orgs.access.caller import get_caller
from orgs.access.permissions import Permission
from orgs.admin.bases.request_permissions import holds_permission
from rag.errors import UnknownDocument
from rag.models import Action, DataSource, Document
from rag.models.content.documents import HAS_LONG_NAMES, HAS_SHORT_NAMES
from rag.pages.rendering.direction_controls import show_overrides
from rag.providers import file_storage
from rag.services.sources import documents
from rag.services.sources.reading import excerpts
from ragsite.postgres.models import as_uuid

from .base import (
    CountedDeletionMixin,
    ReadOnlyMixin,
    SourceContentAdmin,
    field_names,
    sources_with_any_action,
    visible_sources,
)
from .large_lists import LargeListMixin, NewestValuesFilter
from .reparsing import reparse

# The filter "Source" leads to the others.
_MAX_UPLOAD_SOURCES = 20


@admin.register(Document)
class DocumentAdmin(LargeListMixin, ReadOnlyMixin, CountedDeletionMixin, SourceContentAdmin):
    """Documents can be shown, parsed again and deleted; only ingestion creates and changes them.

    The pages are for users who may manage the data source or send documents to it. The text and its chunks are shown
    only to those who may query the data source.
    """

    empty_text = _("There are no documents yet. Upload some to a data source.")
    list_display = ("title", "path", "source", "source_type", "lang", "chunks", "updated_at")
    list_filter = ("source", "source_type", ("lang", NewestValuesFilter))
    search_fields = ("title__contains_word", "path__contains_word")
    list_select_related = ("source__organization",)
    ordering = ("-id",)  # the newest first, by the primary key: no list is sorted to show a page of it
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "shown_path",
                    "source",
                    "format",
                    "lang",
                    "shown_tags",
                    "date",
                    "stored",
                    "recognized",
                    "created_at",
                    "updated_at",
                )
            },
        ),
        (
            _("Details"),
            {
                "classes": ("collapse",),
                "fields": ("title", "uri", "metadata", "content_hash", "chunk_size", "chunk_overlap"),
            },
        ),
    )
    readonly_fields = field_names(fieldsets)
    actions = ("reparse",)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.download)
        return [path("<path:object_id>/original/", view, name="rag_document_original"), *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        extra_context = {**(extra_context or {}), "upload_sources": _list_upload_sources(request)}
        return super().changelist_view(request, extra_context)

    def download(self, request: HttpRequest, object_id: str) -> FileResponse:
        """Send the original file to users who may query its data source. Browsers save it and never display it."""
        document = _get_document_with_original(request, object_id)
        if document is None or document.original is None:
            raise Http404
        file = file_storage.open_original(document.original)
        events.record(
            AuditAction.EXPORTED,
            AuditObject.DOCUMENT,
            object_id=document.pk,
            label=document.path,
            organization=document.source.organization,
        )
        response = FileResponse(
            file,
            as_attachment=True,
            filename=_sanitize_file_name(document.original.name),
            content_type="application/octet-stream",
        )
        response["X-Content-Type-Options"] = "nosniff"
        return response

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        document = _get_document_with_original(request, object_id)
        download_url = reverse("admin:rag_document_original", args=[object_id]) if document else ""
        extra = {"download_url": download_url, **_readable_parts(request, object_id)}
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **extra})

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, object],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Model | None = None,
    ) -> HttpResponse:
        context["subtitle"] = show_overrides(str(obj or ""))
        return super().render_change_form(request, context, add, change, form_url, obj)

    @admin.display(description=_("chunks"), ordering="chunk_count")
    def chunks(self, document: Document) -> int:
        return document.chunk_count

    @admin.display(description=_("type"))
    def format(self, document: Document) -> str:
        return f"{document.get_source_type_display()}, {document.content_type}"

    @admin.display(description=_("path"))
    def shown_path(self, document: Document) -> str:
        return show_overrides(document.path)

    @admin.display(description=_("tags"))
    def shown_tags(self, document: Document) -> SafeString | str:
        return format_html_join(", ", "<bdi>{}</bdi>", ((tag,) for tag in document.tags)) or "-"

    @admin.display(description=_("stored"))
    def stored(self, document: Document) -> str:
        chunks = ngettext("{count} chunk, {size}", "{count} chunks, {size}", document.chunk_count)
        return chunks.format(count=intcomma(document.chunk_count), size=filesizeformat(document.bytes))

    @admin.display(description=_("text recognition"))
    def recognized(self, document: Document) -> str:
        if not document.recognized_pages:
            return "–"
        pages = ngettext("{count} page, {seconds} s", "{count} pages, {seconds} s", document.recognized_pages)
        return pages.format(
            count=intcomma(document.recognized_pages), seconds=intcomma(round(document.recognition_seconds, 1))
        )

    @admin.action(description=_("Parse again"))
    def reparse(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        reparse(self, request, Document.objects.filter(pk__in=[document.pk for document in queryset]))

    def visible_rows(self, request: HttpRequest) -> QuerySet[Document]:
        return Document.objects.live().filter(source__in=sources_with_any_action(request, Action.MANAGE, Action.INGEST))

    def is_allowed(self, request: HttpRequest) -> bool:
        return super().is_allowed(request) or holds_permission(request, Permission.SOURCES_INGEST)

    def selectable_rows(self, request: HttpRequest, model: type[Model]) -> QuerySet[Model] | None:
        if model is DataSource:
            return sources_with_any_action(request, Action.MANAGE, Action.INGEST).select_related("organization")
        return super().selectable_rows(request, model)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        return super().get_queryset(request).defer("text", "line_boxes")

    def search_parts(self, matches: QuerySet[Model]) -> list[QuerySet[Model]]:
        return [matches.filter(HAS_SHORT_NAMES), matches.filter(HAS_LONG_NAMES)]

    def count_deletions(self, objects: Sequence[Document]) -> Mapping[str, int]:
        documents = Document.objects.live().filter(pk__in=[document.pk for document in objects])
        return {
            "documents": documents.count(),
            "chunks": documents.aggregate(sum=Sum("chunk_count", default=0))["sum"],
        }

    def delete_model(self, request: HttpRequest, obj: Document) -> None:
        with contextlib.suppress(UnknownDocument):  # already deleted
            documents.delete_document(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        for document in queryset.select_related("source"):
            self.delete_model(request, document)


def _list_upload_sources(request: HttpRequest) -> list[DataSource]:
    """Return the data sources whose upload pages the list of documents links to.

    If the list is filtered by a source, it is this one. Otherwise there are none for people who manage sources, whose
    pages have the upload, and the first ones for others.
    """
    sources = visible_sources(request, Action.INGEST).order_by("name", "pk")
    if chosen := as_uuid(request.GET.get("source__id__exact", "")):
        return list(sources.filter(pk=chosen))
    return [] if holds_permission(request, Permission.SOURCES_MANAGE) else list(sources[:_MAX_UPLOAD_SOURCES])


def _readable_parts(request: HttpRequest, object_id: str) -> dict[str, object]:
    """Return the chunks of the document and the address of its text, for users who may query its data source."""
    key, first = as_uuid(object_id), request.GET.get("first_chunk", "0")
    first_position = int(first) if first.isascii() and first.isdigit() and len(first) < 7 else 0
    chunks = excerpts.list_chunks(get_caller(request), key, first=first_position) if key else []
    if not chunks:
        return {}
    text_url = reverse("document", args=[object_id])
    linked = [(chunk, f"{text_url}?chunk={chunk.pk}&start={chunk.start}&end={chunk.end}#passage") for chunk in chunks]
    next_position = chunks[-1].position + 1 if len(chunks) == excerpts.PAGE_CHUNKS else None
    return {"text_url": text_url, "chunks": linked, "next_chunk": next_position}


def _sanitize_file_name(name: str) -> str:
    """Return the file name of a path without unprintable characters, such as line breaks and bidirectional marks."""
    file_name = name.replace("\\", "/").rsplit("/", 1)[-1]
    return "".join(character for character in file_name if character.isprintable())[-150:].lstrip(". ") or "original"


def _get_document_with_original(request: HttpRequest, object_id: str) -> Document | None:
    """Return the document if it has an original file and this request's user may query its data source; else None."""
    documents = (
        Document.objects.live().visible_to(get_caller(request), Action.QUERY).select_related("original").without_text()
    )
    key = as_uuid(object_id)
    return documents.filter(pk=key).exclude(original=None).first() if key else None
