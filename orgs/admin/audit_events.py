"""The audit trail in the admin: pages to read, filter and export it. Nobody can change it there.

Superusers see all events. Users with `members.manage` in an organisation see the events of this organisation.
"""

import csv
import datetime
import io
import json
import tempfile

from django.contrib import admin
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import SEARCH_VAR
from django.core.exceptions import PermissionDenied
from django.db import DataError, transaction
from django.db.models import Model, QuerySet
from django.http import FileResponse, Http404, HttpRequest
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from accounts.audit import events as audit
from accounts.audit.events import AuditAction, AuditEvent, AuditObject
from orgs.access.permissions import Permission
from orgs.admin.bases.request_permissions import holds_permission, organizations_with_permission
from orgs.admin.bases.scoped_admin import ScopedAdmin
from orgs.models import Organization
from ragsite.http.bodies.csv_cells import protect_cell
from ragsite.postgres.models import as_uuid

MAX_EXPORTED_ROWS = 100_000
COLUMNS = (
    "at", "action", "kind", "object_id", "object_label", "organization_name", "actor_email", "key_prefix",
    "subject_email", "before", "after", "address", "request_id",
)  # fmt: skip
_DAYS = ("at__year", "at__month", "at__day", "at__gte", "at__lt")


class OrganizationFilter(admin.SimpleListFilter):
    """Filters events by organisation. Events name it by id, without a foreign key, because it may be deleted."""

    title, parameter_name = _("organisation"), "organization"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        rows = organizations_with_permission(request, Permission.MEMBERS_MANAGE)[:200]
        return [(str(row.pk), str(row)) for row in rows]

    def queryset(self, request: HttpRequest, queryset: QuerySet[AuditEvent]) -> QuerySet[AuditEvent]:
        key = as_uuid(self.value() or "")
        return queryset.filter(organization_id=key) if key else queryset


@admin.register(AuditEvent)
class AuditEventAdmin(ScopedAdmin):
    """Lists and exports audit events. Every export is an audit event itself."""

    list_display = ("at", "actor_display", "action", "kind", "object_display", "organization_name", "address")
    list_filter = ("action", "kind", OrganizationFilter)
    # Ids, request ids and key prefixes are matched exactly.
    search_fields = (
        "actor_email", "subject_email", "object_label", "object_id__exact", "request_id__exact", "key_prefix__exact",
    )  # fmt: skip
    date_hierarchy = "at"
    list_per_page = 100
    show_full_result_count = False
    actions = None
    fields = (
        "at", "action", "kind", "object_display", "object_id", "organization_name", "actor_email", "key_prefix",
        "subject_email", "values_before", "values_after", "address", "request_id",
    )  # fmt: skip
    readonly_fields = fields

    def visible_rows(self, request: HttpRequest) -> QuerySet[AuditEvent]:
        if request.user.is_superuser:
            return AuditEvent.objects.all()
        organizations = organizations_with_permission(request, Permission.MEMBERS_MANAGE)
        return AuditEvent.objects.filter(organization_id__in=organizations.values("pk"))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[AuditEvent], search_term: str
    ) -> tuple[QuerySet[AuditEvent], bool]:
        """Also find the events of a data source's grants and re-embeddings if the term is the data source's id."""
        events, has_duplicates = super().get_search_results(request, queryset, search_term)
        if key := as_uuid(search_term.strip()):
            events |= _about_source(queryset, str(key))
        return events, has_duplicates

    def is_allowed(self, request: HttpRequest) -> bool:
        return bool(request.user.is_superuser) or holds_permission(request, Permission.MEMBERS_MANAGE)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Also accept the lookups of the organisation filter and of the date hierarchy."""
        return lookup in (OrganizationFilter.parameter_name, *_DAYS) or super().lookup_allowed(lookup, value, request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(require_safe(self.export))
        return [path("export.csv", view, name="audit_export"), *super().get_urls()]

    def export(self, request: HttpRequest) -> FileResponse:
        """Return the newest MAX_EXPORTED_ROWS events that match the list's filters, as a CSV file."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        if "%00" in request.GET.urlencode():  # the event of the export, which has the filters, could not be stored
            raise Http404
        try:
            events = self.get_changelist_instance(request).get_queryset(request)
            return _export_csv(request, events.order_by("-id")[:MAX_EXPORTED_ROWS])
        except (IncorrectLookupParameters, DisallowedModelAdminLookup, DataError, OverflowError, ValueError):
            raise Http404 from None  # the URL has unknown filters

    @admin.display(description=_("who"), ordering="actor_email")
    def actor_display(self, event: AuditEvent) -> str:
        return " · ".join(filter(None, (event.actor_email, event.key_prefix))) or "—"

    @admin.display(description=_("object"))
    def object_display(self, event: AuditEvent) -> SafeString | str:
        text = " · ".join(filter(None, (event.object_label, event.subject_email)))
        if not text and event.kind == AuditObject.INVITATION:  # the trail does not name people without an account
            url = reverse("admin:orgs_invitation_change", args=[event.object_id])
            return format_html('<a href="{}">{}</a>', url, _("Show the invitation"))
        return text or "—"

    @admin.display(description=_("before"))
    def values_before(self, event: AuditEvent) -> SafeString | str:
        return _render_values(event.before)

    @admin.display(description=_("after"))
    def values_after(self, event: AuditEvent) -> SafeString | str:
        return _render_values(event.after)


def _about_source(events: QuerySet[AuditEvent], source_id: str) -> QuerySet[AuditEvent]:
    """Return the events of what belongs to a data source, by all slugs that the source has had since it was created."""
    changes = AuditEvent.objects.filter(kind=AuditObject.SOURCE, object_id=source_id)
    first = changes.order_by("pk").values("pk", "organization_id").first()
    if first is None:
        return events.none()
    return events.filter(
        kind__in=(AuditObject.GRANT, AuditObject.REEMBEDDING),
        pk__gte=first["pk"],
        organization_id=first["organization_id"],
        object_label__in=set(changes.values_list("object_label", flat=True)),
    )


def _render_values(values: dict[str, object]) -> SafeString | str:
    rows = ((name, json.dumps(value, ensure_ascii=False)) for name, value in values.items())
    return format_html_join("", "<div><b>{}</b>: {}</div>", rows) or "—"


@transaction.atomic
def _export_csv(request: HttpRequest, events: QuerySet[AuditEvent]) -> FileResponse:
    """Write the events to a temporary file, so that memory does not grow with their number, and record the export."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the response)
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")  # Excel reads other files as Latin-1
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    writer.writerows([_cell(getattr(event, name)) for name in COLUMNS] for event in events.iterator(chunk_size=2_000))
    text.detach()
    # The search term may be a person's e-mail address, so only the fact that there was one is recorded.
    filters = {name: value if name != SEARCH_VAR else "…" for name, value in request.GET.items()}
    audit.record(AuditAction.EXPORTED, AuditObject.AUDIT_TRAIL, organization=_only_organization(request), after=filters)
    file.seek(0)
    response = FileResponse(file, as_attachment=True, filename="audit.csv", content_type="text/csv; charset=utf-8")
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _only_organization(request: HttpRequest) -> Organization | None:
    """Return the organisation, if the user manages a single one, so that its other managers see the export as well."""
    if request.user.is_superuser:
        return None
    organizations = list(organizations_with_permission(request, Permission.MEMBERS_MANAGE)[:2])
    return organizations[0] if len(organizations) == 1 else None


def _cell(value: object) -> str:
    """Return a value as a CSV cell that no spreadsheet runs."""
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False) if value else ""
    text = "" if value is None else value.isoformat() if isinstance(value, datetime.datetime) else str(value)
    return protect_cell(text)
