"""The admin of the documents of ingestion jobs: state, error, advice and timings."""

import uuid
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from rag.admin.base import field_names
from rag.admin.large_lists import LargeListMixin
from rag.models import Condition, IngestionDocument
from rag.pages.rendering.operations_template_filters import stage_label
from rag.services.ingestion.parsing_warnings import PAGES_NOT_READ

from .job_admin_base import CONDITION_ADVICE, STATE_LABELS, ConditionFilter, JobAdminBase

# The error codes of documents (docs/user). The filter also accepts other codes in the query string.
_ERROR_CODES = (
    "EMBEDDING_FAILED", "PARSE_ERROR", "UNSUPPORTED_FORMAT", "DOCUMENT_TOO_LARGE", "INDEX_FULL", "WORKER_LOST",
    "INTERNAL_ERROR", PAGES_NOT_READ,
)  # fmt: skip


class CodeFilter(admin.SimpleListFilter):
    title = _("error")
    parameter_name = "code"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        return [(code, code) for code in dict.fromkeys([*_ERROR_CODES, *filter(None, [self.value()])])]

    def queryset(self, request: HttpRequest, queryset: QuerySet[IngestionDocument]) -> QuerySet[IngestionDocument]:
        return queryset.filter(error_code=self.value()) if self.value() else queryset


class JobFilter(admin.SimpleListFilter):
    """Filters by the job in the query string. It offers no choices: there may be too many jobs."""

    title = _("job")
    parameter_name = "job"

    def __init__(self, request: HttpRequest, params: dict[str, list[str]], *args: Any) -> None:
        self._job_id = (params.get("job") or [""])[-1]
        super().__init__(request, params, *args)

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        return [(self._job_id, gettext("the chosen one"))] if self._job_id else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[IngestionDocument]) -> QuerySet[IngestionDocument]:
        return queryset.filter(job=uuid.UUID(self._job_id)) if self._job_id else queryset


@admin.register(IngestionDocument)
class IngestionDocumentAdmin(LargeListMixin, JobAdminBase):
    """Does not show the content of documents: that needs permission to query their data source."""

    change_form_template = "admin/rag/job_change_form.html"
    empty_text = _(
        "There are no documents of jobs yet. Each document that is sent is listed here, with what became of it."
    )
    list_display = ("path", "source", "condition_now", "outcome", "error_code", "attempts", "duration", "finished_at")
    list_filter = ("state", ConditionFilter, CodeFilter, JobFilter, "source")
    search_fields = ("path__contains_word",)
    list_select_related = ("source__organization",)
    ordering = ("-id",)
    actions = ("retry",)
    page_actions = ("retry",)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    *("path", "source", "of_job", "condition_now", "what_to_do", "error_message", "retry_time"),
                    *("outcome", "indexed_as", "finished_at", "timings_by_stage"),
                )
            },
        ),
        (
            _("Details"),
            {
                "classes": ("collapse",),
                "fields": (
                    *("title", "index", "error_code", "stage", "attempts", "outages", "chunk_count"),
                    *("queued_at", "claimed_at"),
                ),
            },
        ),
    )
    readonly_fields = field_names(fieldsets)

    def get_queryset(self, request: HttpRequest) -> QuerySet[IngestionDocument]:
        visible = super().get_queryset(request).values("pk")
        documents = IngestionDocument.objects.filter(pk__in=visible).with_condition().order_by(*self.ordering)
        return documents.defer("text", "metadata")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        row = self.get_object(request, object_id)
        has_failed = row is not None and row.state == IngestionDocument.State.FAILED
        extra = {"subtitle": row.path if row else "", "has_failed": has_failed}
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **extra})

    @admin.action(description=_("Retry the failed documents"))
    def retry(self, request: HttpRequest, queryset: QuerySet[IngestionDocument]) -> None:
        # By their ids: the filters, annotations and order of the list must not enter the queries of the retry.
        document_ids = list(queryset.values_list("pk", flat=True))
        self.retry_documents(request, IngestionDocument.objects.filter(pk__in=document_ids))

    @admin.display(description=_("state"), ordering="state")
    def condition_now(self, document: IngestionDocument) -> str:
        return str(STATE_LABELS[document.condition or document.state])

    @admin.display(description=_("what to do"))
    def what_to_do(self, document: IngestionDocument) -> str:
        return str(_ADVICE.get(document.condition or document.state, "–"))

    @admin.display(description=_("next attempt at"))
    def retry_time(self, document: IngestionDocument) -> str:
        if document.condition != Condition.WAITING or document.retry_at is None:
            return "–"
        return date_format(timezone.localtime(document.retry_at), "DATETIME_FORMAT")

    @admin.display(description=_("job"))
    def of_job(self, document: IngestionDocument) -> str:
        url = reverse("admin:rag_ingestionjob_change", args=[document.job_id])
        return format_html('<a href="{}">{}</a>', url, gettext("Show the job"))

    @admin.display(description=_("indexed as"))
    def indexed_as(self, document: IngestionDocument) -> str:
        if not document.document_id:
            return "–"
        url = reverse("admin:rag_document_change", args=[document.document_id])
        return format_html('<a href="{}">{}</a>', url, gettext("Show the document"))

    @admin.display(description=_("duration"))
    def duration(self, document: IngestionDocument) -> str:
        return _format_duration(sum(document.timings.values())) if document.timings else "–"

    @admin.display(description=_("duration by stage"))
    def timings_by_stage(self, document: IngestionDocument) -> str:
        durations = [
            (stage, document.timings[stage]) for stage in IngestionDocument.Stage.values if stage in document.timings
        ]
        texts = [f"{stage_label(stage)} {_format_duration(milliseconds)}" for stage, milliseconds in durations]
        return ", ".join(texts) or "–"


_ADVICE: dict[str, object] = {
    **CONDITION_ADVICE,
    Condition.WAITING: _("See the error: the embedding model did not respond. The document is retried automatically."),
    IngestionDocument.State.FAILED: _(
        "See the error. If its cause is in the document, correct the document and send it again, otherwise retry it."
    ),
}


def _format_duration(milliseconds: float) -> str:
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
