"""Watching ingestion jobs."""

import uuid
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html

from accounts.models import User
from rag.models import IngestionDocument, IngestionJob
from rag.services import jobs

from .base import SourceContentAdmin


class DocumentsInline(admin.TabularInline):
    """The documents that failed or are at work first: a job may have ten thousand."""

    model = IngestionDocument
    fields = ("index", "path", "state", "outcome", "attempts", "chunk_count", "error_code", "error_message")
    readonly_fields = fields
    extra = 0
    max_num = 0
    can_delete = False
    ordering = ("index",)
    verbose_name_plural = "failed and open documents (the first 100)"

    def get_queryset(self, request: HttpRequest) -> QuerySet[IngestionDocument]:
        shown = IngestionDocument.objects.exclude(state=IngestionDocument.State.DONE)
        if match := request.resolver_match:
            shown = shown.filter(job=_uuid(match.kwargs.get("object_id")))
        return IngestionDocument.objects.filter(pk__in=shown.order_by("index").values("pk")[:100]).defer("text")

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return True  # whoever sees the job's page


def _uuid(quoted: str | None) -> uuid.UUID | None:
    try:
        return uuid.UUID(unquote(quoted or ""))
    except ValueError:
        return None


@admin.register(IngestionJob)
class IngestionJobAdmin(SourceContentAdmin):
    list_display = ("id", "source", "status", "progress", "chunk_total", "created_by", "created_at", "finished_at")
    list_filter = ("status", "source")
    list_select_related = ("source__organization", "created_by")
    inlines = (DocumentsInline,)
    actions = ("cancel",)
    fields = (
        "id", "source", "created_by", "status", "progress", "chunk_total",
        "chunk_size", "chunk_overlap", "created_at", "started_at", "finished_at",
    )  # fmt: skip
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[IngestionJob]:
        return IngestionJob.objects.filter(pk__in=super().get_queryset(request).values("pk")).with_progress()

    @admin.action(description="Cancel what has not ended; what is indexed stays")
    def cancel(self, request: HttpRequest, queryset: QuerySet[IngestionJob]) -> None:
        assert isinstance(request.user, User)
        chosen = [job.pk for job in queryset]
        before = IngestionJob.objects.filter(pk__in=chosen, status=IngestionJob.Status.CANCELLED).count()
        for job in chosen:
            jobs.cancel(request.user, job)
        cancelled = IngestionJob.objects.filter(pk__in=chosen, status=IngestionJob.Status.CANCELLED).count() - before
        messages.success(request, f"Cancelled: {cancelled}. Ended before: {len(chosen) - cancelled}.")

    @admin.display(description="documents")
    def progress(self, job: Any) -> str:
        bar = format_html('<progress max="{}" value="{}"></progress>', job.total, job.done + job.failed)
        failed = f", {job.failed} failed" if job.failed else ""
        return format_html("{} {} of {}{}", bar, job.done + job.failed, job.total, failed)

    @admin.display(description="chunks")
    def chunk_total(self, job: Any) -> int:
        return int(job.chunks)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    has_delete_permission = has_change_permission
