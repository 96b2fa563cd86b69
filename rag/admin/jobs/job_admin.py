"""The admin of ingestion jobs: progress, errors, cancelling, retrying failed documents."""

from collections.abc import Sequence

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import slugify
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from orgs.access.caller import get_caller
from rag.admin.base import field_names
from rag.admin.large_lists import LargeChangeList, LargeListMixin
from rag.models import Condition, IngestionDocument, IngestionJob
from rag.services.jobs import close_and_cancel, job_lookup

from .job_admin_base import STATE_LABELS, ConditionFilter, JobAdminBase, link_to_documents

COMPLETED_WITH_ERRORS = "completed with errors"
_MAX_LISTED_FAILURES = 50
# What a row of the list needs. Whole rows of sources and users take longer to read than the jobs themselves.
_SHOWN_FIELDS = ("status", "created_at", "finished_at", "source__name", "created_by__email")


class StateFilter(admin.SimpleListFilter):
    """Filters by status. Completed jobs include those with errors, which are a choice of their own as well."""

    title, parameter_name = _("state"), "status__exact"  # the home page links to it

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        return [*IngestionJob.Status.choices, (COMPLETED_WITH_ERRORS, gettext("Completed with errors"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[IngestionJob]) -> QuerySet[IngestionJob]:
        failed = IngestionDocument.objects.filter(state=IngestionDocument.State.FAILED).order_by().values("job")
        match self.value():
            case None:
                return queryset
            case value if value == COMPLETED_WITH_ERRORS:
                return queryset.filter(pk__in=failed, status=IngestionJob.Status.COMPLETED)
            case value:
                return queryset.filter(status=value)


class JobChangeList(LargeChangeList):
    """Finds the jobs of the page first, and then reads these with their documents' counts, source and sender."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        keys = list(self.result_list.values_list("pk", flat=True))
        shown = IngestionJob.objects.filter(pk__in=keys).order_by().with_progress()
        rows = shown.select_related("source", "created_by").only(*_SHOWN_FIELDS)
        self.result_list = sorted(rows, key=lambda job: keys.index(job.pk))


@admin.register(IngestionJob)
class IngestionJobAdmin(LargeListMixin, JobAdminBase):
    change_form_template = "admin/rag/job_change_form.html"
    empty_text = _("There are no jobs yet. Each upload becomes a job, whose progress is shown here.")
    list_display = ("name", "state", "progress", "chunk_total", "created_by", "created_at", "finished_at")
    list_filter = (StateFilter, ConditionFilter, "source")
    search_fields = ("id__exact", "source__name", "source__slug", "created_by__email")
    search_help_text = _("Source, e-mail address of the sender, or id of a job")
    actions = ("retry", "cancel")
    page_actions = ("retry", "cancel")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    *("source", "state", "progress", "open_now", "failures", "warnings", "documents", "chunk_total"),
                    *("created_by", "created_at", "started_at", "finished_at"),
                )
            },
        ),
        (_("Details"), {"classes": ("collapse",), "fields": ("id", "errors", "chunk_size", "chunk_overlap")}),
    )
    readonly_fields = field_names(fieldsets)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> IngestionJob | None:
        job = super().get_object(request, object_id, from_field)
        return IngestionJob.objects.with_progress().get(pk=job.pk) if job else None

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[LargeChangeList]:
        return JobChangeList

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        job = self.get_object(request, object_id)
        extra = (
            {"subtitle": self.name(job), "row": job, "is_open": is_open(job), "has_failed": job.failed} if job else {}
        )
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **extra})

    @admin.action(description=_("Cancel the selected jobs (indexed documents stay)"))
    def cancel(self, request: HttpRequest, queryset: QuerySet[IngestionJob]) -> None:
        job_ids = [job.pk for job in queryset]
        before = IngestionJob.objects.filter(pk__in=job_ids, status=IngestionJob.Status.CANCELLED).count()
        for job_id in job_ids:
            close_and_cancel.cancel_job(get_caller(request), job_id)
        cancelled = IngestionJob.objects.filter(pk__in=job_ids, status=IngestionJob.Status.CANCELLED).count() - before
        messages.success(
            request,
            gettext("Cancelled: {cancelled}. Already finished: {number}.").format(
                cancelled=cancelled, number=len(job_ids) - cancelled
            ),
        )

    @admin.action(description=_("Retry the failed documents of the selected jobs"))
    def retry(self, request: HttpRequest, queryset: QuerySet[IngestionJob]) -> None:
        job_ids = [job.pk for job in queryset]
        self.retry_documents(request, IngestionDocument.objects.filter(job__in=job_ids))

    @admin.display(description=_("job"), ordering="source__name")
    def name(self, job: IngestionJob) -> str:
        """Name a job as people do: by where, how many and when."""
        started = date_format(timezone.localtime(job.created_at), "DAY_TIME_FORMAT")
        documents = ngettext("{number} document", "{number} documents", job.total).format(number=job.total)
        return f"{job.source.name}: {documents}, {started}"

    @admin.display(description=_("state"), ordering="status")
    def state(self, job: IngestionJob) -> str:
        state = state_of(job)
        return format_html(
            '<span class="state state-{}" data-live="state-{}"{}>{}</span>',
            slugify(state),
            job.pk,
            _open_mark(job),
            STATE_LABELS[state],
        )

    @admin.display(description=_("documents"))
    def progress(self, job: IngestionJob) -> str:
        ended = job.done + job.failed
        text = gettext("{number} of {total}").format(number=ended, total=job.total)
        text += gettext(", {failed} failed").format(failed=job.failed) if job.failed else ""
        return format_html(
            '<span data-live="progress-{}"{}><progress max="{}" value="{}" aria-label="{}"></progress> {}</span>',
            job.pk, _open_mark(job), job.total, ended, gettext("Progress"), text,
        )  # fmt: skip

    @admin.display(description=_("open documents"))
    def open_now(self, job: IngestionJob) -> str:
        counts = job_lookup.count_conditions(job)
        if not counts:
            return "–"
        links = [
            (number, link_to_documents(STATE_LABELS[name], job=job.pk, condition=name))
            for name, number in sorted(counts.items())
        ]
        advice = f" {gettext(job_lookup.STARVED_ADVICE)}" if Condition.STARVED in counts else ""
        return format_html("{}.{}", format_html_join(", ", "{} {}", links), advice)

    @admin.display(description=_("errors"))
    def errors(self, job: IngestionJob) -> str:
        links = [
            (link_to_documents(code, job=job.pk, code=code), number)
            for code, number in job_lookup.count_failures_by_code(job).items()
        ]
        if not links:
            return "–"
        return format_html("<ul>{}</ul>", format_html_join("", "<li>{}: {}</li>", links))

    @admin.display(description=_("failed documents"))
    def failures(self, job: IngestionJob) -> str:
        """List the first failed documents, each with its error."""
        rows = job_lookup.list_failures(job, _MAX_LISTED_FAILURES)
        if not rows:
            return "–"
        more = gettext("… and {count} more").format(count=job.failed - len(rows)) if job.failed > len(rows) else ""
        return format_html("{}{}", _list_messages(job, rows), more)

    @admin.display(description=_("warnings"))
    def warnings(self, job: IngestionJob) -> str:
        """List the first documents of which something was not read."""
        rows = job_lookup.list_warnings(job, _MAX_LISTED_FAILURES)
        return _list_messages(job, rows) if rows else "–"

    @admin.display(description=_("all documents"))
    def documents(self, job: IngestionJob) -> str:
        text = ngettext("Show the document", "Show the {total} documents", job.total)
        return link_to_documents(text.format(total=job.total), job=job.pk)

    @admin.display(description=_("chunks"))
    def chunk_total(self, job: IngestionJob) -> int:
        return int(job.chunks)


def _list_messages(job: IngestionJob, rows: Sequence[IngestionDocument]) -> SafeString:
    lines = [(link_to_documents(row.path, job=job.pk, q=row.path), row.error_message) for row in rows]
    return format_html("<ul>{}</ul>", format_html_join("", "<li>{}: {}</li>", lines))


def state_of(job: IngestionJob) -> str:
    """Return the status of a job with its progress; a completed job may have failed documents."""
    return COMPLETED_WITH_ERRORS if job.status == IngestionJob.Status.COMPLETED and job.failed else str(job.status)


def is_open(job: IngestionJob) -> bool:
    return job.status in IngestionJob.OPEN_STATUSES


def _open_mark(job: IngestionJob) -> str:
    """Return the attribute that makes the page's script ask again."""
    return SafeString(" data-open") if is_open(job) else ""
