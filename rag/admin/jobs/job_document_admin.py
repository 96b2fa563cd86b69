"""The documents of ingestion jobs, one by one: what is done with them, how long it took, and why they failed."""

import uuid
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from rag.models import Condition, IngestionDocument
from rag.services.jobs import queries

from .job_admin import ConditionFilter, ReadOnlyAdmin

# What a document can fail of (the user handbook); any other may stand in the address.
_CODES = (
    "EMBEDDING_FAILED", "PARSE_ERROR", "UNSUPPORTED_FORMAT", "DOCUMENT_TOO_LARGE", "INDEX_FULL", "WORKER_LOST",
    "INTERNAL_ERROR",
)  # fmt: skip


class CodeFilter(admin.SimpleListFilter):
    title = "error"
    parameter_name = "code"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(code, code) for code in dict.fromkeys([*_CODES, *filter(None, [self.value()])])]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(error_code=self.value()) if self.value() else queryset


class JobFilter(admin.SimpleListFilter):
    """Offered only where somebody comes from a job: there are too many to list."""

    title = "job"
    parameter_name = "job"

    def __init__(self, request: HttpRequest, params: dict[str, Any], *args: Any) -> None:
        self._asked = (params.get("job") or [""])[-1]
        super().__init__(request, params, *args)

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(self._asked, self._asked)] if self._asked else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(job=uuid.UUID(self._asked)) if self._asked else queryset


@admin.register(IngestionDocument)
class IngestionDocumentAdmin(ReadOnlyAdmin):
    """Never shows what was sent: documents are for those who may query their source."""

    list_display = ("path", "source", "condition_now", "outcome", "error_code", "attempts", "took", "finished_at")
    list_filter = ("state", ConditionFilter, CodeFilter, JobFilter, "source")
    search_fields = ("path",)
    list_select_related = ("source__organization",)
    ordering = ("-id",)
    show_full_result_count = False
    actions = ("retry",)
    fields = (
        "path", "title", "of_job", "index", "source", "state", "condition_now", "what_to_do", "outcome", "indexed_as",
        "stage", "attempts", "outages", "error_code", "error_message", "retry_time", "timings_by_stage", "chunk_count",
        "queued_at", "claimed_at", "finished_at",
    )  # fmt: skip
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[IngestionDocument]:
        visible = super().get_queryset(request).values("pk")
        rows = IngestionDocument.objects.filter(pk__in=visible).with_condition().order_by(*self.ordering)
        return rows.defer("text", "metadata")

    @admin.action(description="Try again what failed")
    def retry(self, request: HttpRequest, queryset: QuerySet[IngestionDocument]) -> None:
        chosen = [row.pk for row in queryset]
        self.try_again(request, IngestionDocument.objects.filter(pk__in=chosen))

    @admin.display(description="state", ordering="state")
    def condition_now(self, row: IngestionDocument) -> str:
        return row.condition or row.state

    @admin.display(description="what to do")
    def what_to_do(self, row: IngestionDocument) -> str:
        return (
            queries.STARVED_ADVICE
            if row.condition == Condition.STARVED
            else _ADVICE.get(row.condition or row.state, "–")
        )

    @admin.display(description="next try, not before")
    def retry_time(self, row: IngestionDocument) -> Any:
        return row.retry_at if row.condition == Condition.WAITING else None

    @admin.display(description="job")
    def of_job(self, row: IngestionDocument) -> str:
        return format_html(
            '<a href="{0}">{1}</a>', reverse("admin:rag_ingestionjob_change", args=[row.job_id]), row.job_id
        )

    @admin.display(description="indexed as")
    def indexed_as(self, row: IngestionDocument) -> str:
        if not row.document_id:
            return "–"
        address = reverse("admin:rag_document_change", args=[row.document_id])
        return format_html('<a href="{}">{}</a>', address, row.document_id)

    @admin.display(description="time")
    def took(self, row: IngestionDocument) -> str:
        return _duration(sum(row.timings.values())) if row.timings else "–"

    @admin.display(description="time by stage")
    def timings_by_stage(self, row: IngestionDocument) -> str:
        taken = [(stage, row.timings[stage]) for stage in IngestionDocument.Stage.values if stage in row.timings]
        return ", ".join(f"{stage} {_duration(each)}" for stage, each in taken) or "–"


_ADVICE: dict[str, str] = {
    Condition.QUEUED: "Nothing: a worker takes it when it is its turn.",
    Condition.STARVED: queries.STARVED_ADVICE,
    Condition.RUNNING: "Nothing: a worker is at it.",
    Condition.LOST: "Nothing: the next sweep, within seconds, gives it to another worker.",
    Condition.WAITING: "See the error: the embedding model did not answer. It is tried again by itself.",
    IngestionDocument.State.FAILED: "See the error. When its cause is gone, try it again: an action of the list.",
}


def _duration(milliseconds: float) -> str:
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
