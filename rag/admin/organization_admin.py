"""What organisations store, on their pages: the page itself is of orgs, which knows nothing of documents."""

from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.utils.html import format_html
from django.utils.safestring import SafeString

from orgs.admin.organizations import OrganizationAdmin
from orgs.models import Membership, Organization
from rag.models import DataSource, Document, Usage
from rag.services.sources import deletion

# From this share of a quota on the bar and its figure warn.
_NEARLY_FULL = 0.9

admin.site.unregister(Organization)


@admin.register(Organization)
class StoringOrganizationAdmin(OrganizationAdmin):
    class Media:
        css = {"all": ["rag/pages.css"]}

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        return (*OrganizationAdmin.list_display, "stored_chunks", "stored_bytes")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("usage")

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        stored = ("stored_chunks", "stored_bytes") if obj else ()
        return (*super().get_readonly_fields(request, obj), *stored)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Counted, not collected: it may have millions of chunks."""
        sources = DataSource.objects.filter(organization__in=[each.pk for each in objs], deleted_at=None)
        counts = {
            "organisations": len(objs),
            "memberships": Membership.objects.filter(organization__in=[each.pk for each in objs]).count(),
            "data sources": sources.count(),
            "documents": Document.objects.live().filter(source__in=sources).count(),
        }
        return [f"{number:,} {name}" for name, number in counts.items()], counts, set(), []

    def delete_model(self, request: HttpRequest, obj: Organization) -> None:
        deletion.delete_organization(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Organization]) -> None:
        for organization in queryset:
            deletion.delete_organization(organization)

    @admin.display(description="chunks stored", ordering="usage__chunks")
    def stored_chunks(self, organization: Organization) -> str:
        used = _usage(organization).chunks
        return _of_most(used, organization.max_chunks, f"{used:,}", f"{organization.max_chunks or 0:,}")

    @admin.display(description="bytes stored", ordering="usage__bytes")
    def stored_bytes(self, organization: Organization) -> str:
        used, most = _usage(organization).bytes, organization.max_bytes
        return _of_most(used, most, filesizeformat(used), filesizeformat(most or 0))


def _usage(organization: Organization) -> Usage:
    return getattr(organization, "usage", None) or Usage()


def _of_most(used: int, most: int | None, used_text: str, most_text: str) -> str | SafeString:
    """A bar where there is a limit; its colour, and the figure's, change where it is nearly reached."""
    if most is None:
        return used_text
    high = most * _NEARLY_FULL
    name = "over-quota" if used >= high else ""
    bar = format_html('<meter min="0" max="{}" high="{}" optimum="0" value="{}"></meter>', most, high, used)
    return format_html('{} <span class="{}">{} of {}</span>', bar, name, used_text, most_text)
