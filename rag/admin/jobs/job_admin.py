"""The admin of ingestion jobs: progress, errors, cancelling, retrying failed documents."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from orgs.access.caller import get_caller
from rag.admin.base import ReadOnlyMixin, SourceContentAdmin, visible_sources
from rag.errors import RagError
from rag.models import Action, Condition, IngestionDocument, IngestionJob
from rag.services.jobs import job_lookup, lifecycle, retries

_DOCUMENT_LIST_URL = "admin:rag_ingestiondocument_changelist"


class ConditionFilter(admin.SimpleListFilter):
    title = "condition"
    parameter_name = "condition"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        return [(condition.value, condition.name.capitalize()) for condition in Condition]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Model]) -> QuerySet[Model]:
        if self.value() not in Condition.values:
            return queryset
        if queryset.model is IngestionDocument:
            return queryset.filter(condition=self.value())
        open_documents: Any = IngestionDocument.objects.filter(state__in=IngestionDocument.OPEN_STATES).with_condition()
        return queryset.filter(pk__in=open_documents.filter(condition=self.value()).order_by().values("job"))


def link_to_documents(text: Any, **filters: object) -> SafeString:
    """Render a link to the list of job documents, filtered by these filters."""
    return format_html('<a href="{}?{}">{}</a>', reverse(_DOCUMENT_LIST_URL), urlencode(filters), text)


class JobContentAdmin(ReadOnlyMixin, SourceContentAdmin):
    """The base class of the admins of jobs and of job documents."""

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        filters = [
            entry for entry in self.list_filter if isinstance(entry, type) and issubclass(entry, admin.SimpleListFilter)
        ]
        return lookup in {entry.parameter_name for entry in filters} or super().lookup_allowed(lookup, value, request)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if request.method == "GET" and self.has_view_permission(request):
            self._warn_if_starved(request)
        return super().changelist_view(request, extra_context)

    def _warn_if_starved(self, request: HttpRequest) -> None:
        visible = IngestionDocument.objects.filter(pk__in=self.open_documents(request).values("pk"))
        documents: Any = visible.with_condition()
        if documents.filter(condition=Condition.STARVED).exists():
            messages.warning(request, job_lookup.STARVED_ADVICE)

    def open_documents(self, request: HttpRequest) -> QuerySet[IngestionDocument]:
        documents = IngestionDocument.objects.filter(state__in=IngestionDocument.OPEN_STATES)
        if self.model is IngestionJob:
            return documents.filter(job__in=self.visible_rows(request))
        return documents.filter(pk__in=self.visible_rows(request))

    def retry_documents(self, request: HttpRequest, failed: QuerySet[IngestionDocument]) -> None:
        """Retry failed documents of sources that the user may send documents to; managing the source is not enough."""
        sources = visible_sources(request, Action.INGEST)
        selected_count = failed.filter(state=IngestionDocument.State.FAILED).count()
        failed = failed.filter(source__in=sources.values("pk"))
        try:
            retried_count = retries.retry_documents(failed)
        except RagError as error:
            messages.error(request, error.message or "The documents could not be queued again.")
            return
        messages.success(request, f"Queued again: {retried_count} documents.")
        if retried_count < selected_count:
            skipped = selected_count - retried_count
            messages.warning(
                request,
                f"Not queued: {skipped} documents. Their content is no longer stored, their job was cancelled, or you "
                "may not send documents to their source. Send them again in a new job.",
            )


@admin.register(IngestionJob)
class IngestionJobAdmin(JobContentAdmin):
    list_display = ("id", "source", "status", "progress", "chunk_total", "created_by", "created_at", "finished_at")
    list_filter = ("status", ConditionFilter, "source")
    list_select_related = ("source__organization", "created_by")
    actions = ("retry", "cancel")
    fields = (
        "id", "source", "created_by", "status", "progress", "open_now", "errors", "documents", "chunk_total",
        "chunk_size", "chunk_overlap", "created_at", "started_at", "finished_at",
    )  # fmt: skip
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[IngestionJob]:
        return IngestionJob.objects.filter(pk__in=super().get_queryset(request).values("pk")).with_progress()

    @admin.action(description="Cancel the selected jobs (indexed documents stay)")
    def cancel(self, request: HttpRequest, queryset: QuerySet[IngestionJob]) -> None:
        job_ids = [job.pk for job in queryset]
        before = IngestionJob.objects.filter(pk__in=job_ids, status=IngestionJob.Status.CANCELLED).count()
        for job_id in job_ids:
            lifecycle.cancel_job(get_caller(request), job_id)
        cancelled = IngestionJob.objects.filter(pk__in=job_ids, status=IngestionJob.Status.CANCELLED).count() - before
        messages.success(request, f"Cancelled: {cancelled}. Already finished: {len(job_ids) - cancelled}.")

    @admin.action(description="Retry the failed documents of the selected jobs")
    def retry(self, request: HttpRequest, queryset: QuerySet[IngestionJob]) -> None:
        job_ids = [job.pk for job in queryset]
        self.retry_documents(request, IngestionDocument.objects.filter(job__in=job_ids))

    @admin.display(description="documents")
    def progress(self, job: Any) -> str:
        bar = format_html('<progress max="{}" value="{}"></progress>', job.total, job.done + job.failed)
        failed = f", {job.failed} failed" if job.failed else ""
        return format_html("{} {} of {}{}", bar, job.done + job.failed, job.total, failed)

    @admin.display(description="open documents")
    def open_now(self, job: IngestionJob) -> str:
        counts = job_lookup.count_conditions(job)
        if not counts:
            return "–"
        links = [
            (number, link_to_documents(name, job=job.pk, condition=name)) for name, number in sorted(counts.items())
        ]
        advice = f" {job_lookup.STARVED_ADVICE}" if Condition.STARVED in counts else ""
        return format_html("{}.{}", format_html_join(", ", "{} {}", links), advice)

    @admin.display(description="errors")
    def errors(self, job: IngestionJob) -> str:
        links = [
            (link_to_documents(code, job=job.pk, code=code), number)
            for code, number in job_lookup.count_failures_by_code(job).items()
        ]
        if not links:
            return "–"
        return format_html("<ul>{}</ul>", format_html_join("", "<li>{}: {}</li>", links))

    @admin.display(description="all documents")
    def documents(self, job: Any) -> str:
        return link_to_documents(f"Show the {job.total} documents", job=job.pk)

    @admin.display(description="chunks")
    def chunk_total(self, job: Any) -> int:
        return int(job.chunks)
