"""Lists syncs with their counts and errors, and stops, resumes and confirms them."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.formats import number_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy, ngettext

from orgs.access.caller import get_caller
from orgs.access.permissions import Permission
from orgs.admin.bases.request_permissions import holds_permission
from orgs.admin.bases.scoped_admin import ScopedAdmin
from rag.admin.base import ReadOnlyMixin, managed_organizations
from rag.models import SyncConnection, SyncRun
from rag.services.ingestion.sync import run_actions


@admin.register(SyncRun)
class SyncRunAdmin(ReadOnlyMixin, ScopedAdmin):
    """Lists syncs with their counts, and stops, resumes and confirms them."""

    empty_text = gettext_lazy("Nothing was synced yet. Each run of a sync connection is listed here.")
    _COUNTS = ("listed", "added", "changed", "renamed", "removed", "failed")
    list_display = ("created_at", "source", "state", "phase_now", "counts", "reason")
    list_filter = ("state", "connection")
    list_select_related = ("connection__source__organization",)
    list_per_page = 50
    show_full_result_count = False
    fields = (
        *("source", "location", "state", "phase_now", "reason", "started_by", "created_at", "finished_at"),
        *(*_COUNTS, "missing", "skipped", "failed_items"),
    )
    actions = ("stop", "resume", "confirm_removal", "refuse_removal")

    def visible_rows(self, request: HttpRequest) -> QuerySet[Model]:
        rows: QuerySet[Model] = SyncRun.objects.visible_to(get_caller(request)).filter(
            connection__source__organization__in=managed_organizations(request).values("pk")
        )
        return rows

    def is_allowed(self, request: HttpRequest) -> bool:
        return holds_permission(request, Permission.SOURCES_MANAGE)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def selectable_rows(self, request: HttpRequest, model: type[Model]) -> QuerySet[Model] | None:
        rows: QuerySet[Model] = SyncConnection.objects.visible_to(get_caller(request)).filter(
            source__organization__in=managed_organizations(request).values("pk")
        )
        return rows if model is SyncConnection else None

    @admin.display(description=gettext_lazy("data source"))
    def source(self, run: SyncRun) -> str:
        return str(run.connection.source)

    @admin.display(description=gettext_lazy("phase"))
    def phase_now(self, run: SyncRun) -> str:
        """Return what the sync is doing; nothing if it has ended."""
        return run.get_phase_display() if run.state in SyncRun.OPEN_STATES else "–"

    @admin.display(description=gettext_lazy("items"))
    def counts(self, run: SyncRun) -> str:
        """Return the counts that are not 0: a column for each would make the list wider than a screen."""
        fields: list[Any] = [run._meta.get_field(name) for name in self._COUNTS]
        counts = [(getattr(run, field.name), field.verbose_name) for field in fields]
        return (
            ", ".join(f"{number_format(count, force_grouping=True)} {label}" for count, label in counts if count) or "–"
        )

    @admin.display(description=gettext_lazy("error"))
    def reason(self, run: SyncRun) -> str:
        """Return why it failed or ended early, in the language of the page if that is not what a server answered."""
        return gettext(run.error) if run.error else "–"

    @admin.display(description=gettext_lazy("location"))
    def location(self, run: SyncRun) -> str:
        return str(run.connection)

    @admin.display(description=gettext_lazy("failed items"))
    def failed_items(self, run: SyncRun) -> SafeString | str:
        if not run.errors:
            return "–"
        rows = ((error["path"], error["code"], error["message"]) for error in run.errors)
        return format_html("<ul>{}</ul>", format_html_join("", "<li>{}: {}. {}</li>", rows))

    @admin.action(description=gettext_lazy("Stop the selected syncs"), permissions=["view"])
    def stop(self, request: HttpRequest, queryset: QuerySet[SyncRun]) -> None:
        self._apply(request, queryset, run_actions.stop)

    @admin.action(description=gettext_lazy("Resume the selected syncs"), permissions=["view"])
    def resume(self, request: HttpRequest, queryset: QuerySet[SyncRun]) -> None:
        self._apply(request, queryset, run_actions.resume)

    @admin.action(
        description=gettext_lazy("Remove the documents that have disappeared from their location"), permissions=["view"]
    )
    def confirm_removal(self, request: HttpRequest, queryset: QuerySet[SyncRun]) -> None:
        self._apply(request, queryset, run_actions.confirm_removal)

    @admin.action(
        description=gettext_lazy("Keep the documents that have disappeared from their location"), permissions=["view"]
    )
    def refuse_removal(self, request: HttpRequest, queryset: QuerySet[SyncRun]) -> None:
        self._apply(request, queryset, run_actions.refuse_removal)

    def _apply(self, request: HttpRequest, queryset: QuerySet[SyncRun], action: Callable[[SyncRun], None]) -> None:
        done = 0
        for run in queryset:
            try:
                action(run)
                done += 1
            except run_actions.SyncRefused as error:
                messages.warning(request, f"{run}: {error}")
        if done:
            text = ngettext("Done for %(number)d sync.", "Done for %(number)d syncs.", done)
            messages.success(request, text % {"number": done})
