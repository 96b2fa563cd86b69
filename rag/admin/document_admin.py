"""The documents of data sources."""

import contextlib
from functools import reduce
from operator import or_
from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet, Sum
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.urls import path, reverse

from accounts.audit import events
from accounts.audit.events import Act, Kind
from orgs.access.caller import get_caller
from orgs.access.permissions import Permission
from orgs.admin.scoped import organizations_where
from rag.errors import UnknownDocument
from rag.models import Action, DataSource, Document
from rag.providers import file_storage
from rag.services.sources import documents
from ragsite.postgres.models import as_uuid

from .base import SourceContentAdmin
from .reparsing import parse_again


@admin.register(Document)
class DocumentAdmin(SourceContentAdmin):
    """Read only but for deleting: documents come in by ingestion. For whoever manages the source or may send documents
    to it; their text is shown to those who may query it, not here."""

    list_display = ("title", "path", "source", "source_type", "lang", "chunk_count", "updated_at")
    list_filter = ("source", "source_type", "lang")
    search_fields = ("title", "path")
    list_select_related = ("source__organization",)
    fields = (
        "title", "path", "uri", "source", "source_type", "content_type", "lang", "tags", "date", "metadata",
        "content_hash", "chunk_count", "bytes", "chunk_size", "chunk_overlap", "created_at", "updated_at",
    )  # fmt: skip
    readonly_fields = fields
    actions = ("parse_again",)

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.download)
        return [path("<path:object_id>/original/", view, name="rag_document_original"), *super().get_urls()]

    def download(self, request: HttpRequest, object_id: str) -> FileResponse:
        """The file as it was sent, for those who may query its source; never shown by a browser, only saved."""
        document = _with_original(request, object_id)
        if document is None or document.original is None:
            raise Http404
        file = file_storage.opened(document.original)
        home = document.source.organization
        events.record(Act.EXPORTED, Kind.DOCUMENT, object_id=document.pk, label=document.path, organization=home)
        reply = FileResponse(
            file,
            as_attachment=True,
            filename=_harmless(document.original.name),
            content_type="application/octet-stream",
        )
        reply["X-Content-Type-Options"] = "nosniff"
        return reply

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        found = _with_original(request, object_id)
        address = reverse("admin:rag_document_original", args=[object_id]) if found else ""
        kwargs["extra_context"] = {**(kwargs.get("extra_context") or {}), "download_address": address}
        return super().change_view(request, object_id, *args, **kwargs)

    @admin.action(description="Parse again")
    def parse_again(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        parse_again(self, request, Document.objects.filter(pk__in=[document.pk for document in queryset]))

    def visible(self, request: HttpRequest) -> QuerySet[Document]:
        return Document.objects.live().filter(source__in=self.choices(request, DataSource))

    def allowed(self, request: HttpRequest) -> bool:
        return super().allowed(request) or organizations_where(request, Permission.SOURCES_INGEST).exists()

    def choices(self, request: HttpRequest, model: type[Model]) -> QuerySet[Any] | None:
        if model is DataSource:
            mine = (DataSource.objects.visible_to(get_caller(request), each) for each in (Action.MANAGE, Action.INGEST))
            return reduce(or_, mine)
        return super().choices(request, model)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        return super().get_queryset(request).defer("text")

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Counted, not collected: a document may have a hundred thousand chunks."""
        chosen = Document.objects.live().filter(pk__in=[document.pk for document in objs])
        counts = {"documents": chosen.count(), "chunks": chosen.aggregate(sum=Sum("chunk_count", default=0))["sum"]}
        return [f"{number:,} {name}" for name, number in counts.items()], counts, set(), []

    def delete_model(self, request: HttpRequest, obj: Document) -> None:
        with contextlib.suppress(UnknownDocument):  # somebody else was first
            documents.delete_document(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        for document in queryset.select_related("source"):
            self.delete_model(request, document)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


def _harmless(name: str) -> str:
    """The last part of a path, without what nobody sees: line ends, marks that turn the direction of what follows."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    return "".join(each for each in last if each.isprintable())[-150:].lstrip(". ") or "original"


def _with_original(request: HttpRequest, object_id: str) -> Document | None:
    """Whoever manages a source and may not query it does not read its files either."""
    allowed = (
        Document.objects.live().visible_to(get_caller(request), Action.QUERY).select_related("original").defer("text")
    )
    key = as_uuid(object_id)
    return allowed.filter(pk=key).exclude(original=None).first() if key else None
