"""Shared by the admin of jobs and that of their documents: the filter by condition, retrying, warnings."""

import uuid
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from rag.admin.base import ReadOnlyMixin, SourceContentAdmin, visible_sources
from rag.errors import RagError
from rag.models import Action, Condition, IngestionDocument, IngestionJob
from rag.services.jobs import job_lookup, manual_retries

# States and conditions as lists show them.
STATE_LABELS = {
    "queued": _("queued"),
    "processing": _("processing"),
    "completed": _("completed"),
    "completed with errors": _("completed with errors"),
    "failed": _("failed"),
    "cancelled": _("cancelled"),
    "running": _("running"),
    "done": _("done"),
    "starved": _("starved"),
    "lost": _("lost"),
    "waiting": _("waiting"),
}
# What an operator does about documents in a condition. What to do about waiting ones depends on the page.
CONDITION_ADVICE: dict[str, object] = {
    Condition.QUEUED: _("Nothing: workers take documents in turn."),
    Condition.STARVED: _(job_lookup.STARVED_ADVICE),
    Condition.RUNNING: _("Nothing: a worker is at work."),
    Condition.LOST: _("Nothing: the scheduler finds another worker within seconds."),
}
_DOCUMENT_LIST_URL = "admin:rag_ingestiondocument_changelist"


class ConditionFilter(admin.SimpleListFilter):
    title = _("open documents")
    parameter_name = "condition"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        return [(condition.value, str(capfirst(STATE_LABELS[condition.value]))) for condition in Condition]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Model]) -> QuerySet[Model]:
        if self.value() not in Condition.values:
            return queryset
        if queryset.model is IngestionDocument:
            return queryset.filter(condition=self.value())
        open_documents: Any = IngestionDocument.objects.filter(state__in=IngestionDocument.OPEN_STATES).with_condition()
        return queryset.filter(pk__in=open_documents.filter(condition=self.value()).order_by().values("job"))


def link_to_documents(text: object, **filters: object) -> SafeString:
    """Render a link to the list of job documents, filtered by these filters."""
    return format_html('<a href="{}?{}">{}</a>', reverse(_DOCUMENT_LIST_URL), urlencode(filters), text)


class JobAdminBase(ReadOnlyMixin, SourceContentAdmin):
    """The base class of the admins of jobs and of job documents: actions for one row are buttons on its page."""

    class Media:
        css = {"all": ["rag/admin_pages.css"]}
        js = ["rag/live.js"]

    # Actions of the list that are buttons on the page of a row as well.
    page_actions: tuple[str, ...] = ()

    def get_urls(self) -> list[URLPattern]:
        views = [
            path(
                f"<uuid:row_id>/{name}/",
                self.admin_site.admin_view(partial(self._run_for_row, name=name)),
            )
            for name in self.page_actions
        ]
        return [*views, *super().get_urls()]

    def _run_for_row(self, request: HttpRequest, row_id: uuid.UUID, *, name: str) -> HttpResponse:
        """Run an action of the list for one row, and show its page again. After a sign-in only its page is shown."""
        rows = self.get_queryset(request).filter(pk=row_id)
        if not rows.exists():
            raise Http404
        if request.method == "POST":
            getattr(self, name)(request, rows)
        return HttpResponseRedirect(
            reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", args=[row_id])
        )

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        filters = [
            entry for entry in self.list_filter if isinstance(entry, type) and issubclass(entry, admin.SimpleListFilter)
        ]
        return lookup in {entry.parameter_name for entry in filters} or super().lookup_allowed(lookup, value, request)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        if request.method == "GET" and self.has_view_permission(request):
            self._warn_if_starved(request)
        return super().changelist_view(request, extra_context)

    def _warn_if_starved(self, request: HttpRequest) -> None:
        if not IngestionDocument.objects.filter(state__in=IngestionDocument.OPEN_STATES).exists():
            return  # most of the time: finding out which of them are starved takes a tenth of the page
        visible = IngestionDocument.objects.filter(pk__in=self.open_documents(request).values("pk"))
        documents: Any = visible.with_condition()
        if documents.filter(condition=Condition.STARVED).exists():
            text = gettext("Documents are waiting, but no worker has claimed any for a while.")
            messages.warning(request, f"{text} {gettext(job_lookup.STARVED_ADVICE)}")

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
            retried_count = manual_retries.retry_documents(failed)
        except RagError as error:
            messages.error(request, error.message or gettext("The documents could not be queued again."))
            return
        text = ngettext("Queued again: {number} document.", "Queued again: {number} documents.", retried_count)
        messages.success(request, text.format(number=retried_count))
        if retried_count < selected_count:
            skipped = selected_count - retried_count
            messages.warning(
                request,
                ngettext(
                    "Not queued: {skipped} document. Its content is not stored, its job was cancelled, or you may not "
                    "send documents to its source. Send it again in a new job.",
                    "Not queued: {skipped} documents. Their content is not stored, their job was cancelled, or you may "
                    "not send documents to their source. Send them again in a new job.",
                    skipped,
                ).format(skipped=skipped),
            )
