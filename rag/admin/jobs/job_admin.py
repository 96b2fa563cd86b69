"""Watching ingestion jobs, and trying again what failed."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from orgs.access.caller import get_caller
from rag.admin.base import SourceContentAdmin
from rag.errors import RagError
from rag.models import Action, Condition, DataSource, IngestionDocument, IngestionJob
from rag.services.jobs import queries, retries

_DOCUMENTS = "admin:rag_ingestiondocument_changelist"


class ConditionFilter(admin.SimpleListFilter):
    title = "condition"
    parameter_name = "condition"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(each.value, each.name.capitalize()) for each in Condition]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in Condition.values:
            return queryset
        if queryset.model is IngestionDocument:
            return queryset.filter(condition=self.value())
        rows: Any = IngestionDocument.objects.filter(state__in=IngestionDocument.OPEN_STATES).with_condition()
        return queryset.filter(pk__in=rows.filter(condition=self.value()).order_by().values("job"))


def listed(text: Any, **wanted: object) -> SafeString:
    """A link to the page of documents, with these filters."""
    return format_html('<a href="{}?{}">{}</a>', reverse(_DOCUMENTS), urlencode(wanted), text)


class ReadOnlyAdmin(SourceContentAdmin):
    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        own = [each for each in self.list_filter if isinstance(each, type) and issubclass(each, admin.SimpleListFilter)]
        return lookup in {each.parameter_name for each in own} or super().lookup_allowed(lookup, value, request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    has_delete_permission = has_change_permission

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if request.method == "GET" and self.has_view_permission(request):
            self._say_if_starved(request)
        return super().changelist_view(request, extra_context)

    def _say_if_starved(self, request: HttpRequest) -> None:
        visible = IngestionDocument.objects.filter(pk__in=self.open_documents(request).values("pk"))
        rows: Any = visible.with_condition()
        if rows.filter(condition=Condition.STARVED).exists():
            messages.warning(request, queries.STARVED_ADVICE)

    def open_documents(self, request: HttpRequest) -> QuerySet[IngestionDocument]:
        found = IngestionDocument.objects.filter(state__in=IngestionDocument.OPEN_STATES)
        if self.model is IngestionJob:
            return found.filter(job__in=self.visible(request))
        return found.filter(pk__in=self.visible(request))

    def try_again(self, request: HttpRequest, failed: QuerySet[IngestionDocument]) -> None:
        """What goes in again is what its sender could send: managing a source is not enough."""
        allowed = DataSource.objects.visible_to(get_caller(request), Action.INGEST)
        chosen = failed.filter(state=IngestionDocument.State.FAILED).count()
        failed = failed.filter(source__in=allowed.values("pk"))
        try:
            tried = retries.retry_documents(failed)
        except RagError as error:
            messages.error(request, error.message or "It could not be tried again.")
            return
        messages.success(request, f"Tried again: {tried}.")
        if tried < chosen:
            left = f"Left as they are: {chosen - tried}. Of these nothing is kept, or their job was cancelled."
            messages.warning(request, f"{left} Send them again, as a new job.")


@admin.register(IngestionJob)
class IngestionJobAdmin(ReadOnlyAdmin):
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

    @admin.action(description="Cancel what has not ended; what is indexed stays")
    def cancel(self, request: HttpRequest, queryset: QuerySet[IngestionJob]) -> None:
        chosen = [job.pk for job in queryset]
        before = IngestionJob.objects.filter(pk__in=chosen, status=IngestionJob.Status.CANCELLED).count()
        for job in chosen:
            queries.cancel_job(get_caller(request), job)
        cancelled = IngestionJob.objects.filter(pk__in=chosen, status=IngestionJob.Status.CANCELLED).count() - before
        messages.success(request, f"Cancelled: {cancelled}. Ended before: {len(chosen) - cancelled}.")

    @admin.action(description="Try the failed documents again")
    def retry(self, request: HttpRequest, queryset: QuerySet[IngestionJob]) -> None:
        chosen = [job.pk for job in queryset]
        self.try_again(request, IngestionDocument.objects.filter(job__in=chosen))

    @admin.display(description="documents")
    def progress(self, job: Any) -> str:
        bar = format_html('<progress max="{}" value="{}"></progress>', job.total, job.done + job.failed)
        failed = f", {job.failed} failed" if job.failed else ""
        return format_html("{} {} of {}{}", bar, job.done + job.failed, job.total, failed)

    @admin.display(description="not done yet")
    def open_now(self, job: IngestionJob) -> str:
        counted = queries.count_conditions(job)
        if not counted:
            return "–"
        links = [(number, listed(name, job=job.pk, condition=name)) for name, number in sorted(counted.items())]
        advice = f" {queries.STARVED_ADVICE}" if Condition.STARVED in counted else ""
        return format_html("{}.{}", format_html_join(", ", "{} {}", links), advice)

    @admin.display(description="errors")
    def errors(self, job: IngestionJob) -> str:
        found = [
            (listed(code, job=job.pk, code=code), number) for code, number in queries.count_failures_by_code(job).items()
        ]
        if not found:
            return "–"
        return format_html("<ul>{}</ul>", format_html_join("", "<li>{}: {}</li>", found))

    @admin.display(description="all documents")
    def documents(self, job: Any) -> str:
        return listed(f"Show the {job.total} documents", job=job.pk)

    @admin.display(description="chunks")
    def chunk_total(self, job: Any) -> int:
        return int(job.chunks)
