"""Adds storage figures and deletion of documents to the admin of organisations, which belongs to `orgs`."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet, Sum
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from orgs.admin.organizations import OrganizationAdmin
from orgs.models import Membership, Organization
from rag.models import DataSource, Document, HistoryUsage, Usage
from rag.services.sources import deletion

from .base import CountedDeletionMixin

# The share of a quota from which the bar and its figure warn.
_QUOTA_WARNING_SHARE = 0.9

admin.site.unregister(Organization)


@admin.register(Organization)
class OrganizationWithStorageAdmin(CountedDeletionMixin, OrganizationAdmin):
    class Media:
        css = {"all": ["rag/admin_pages.css"]}

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        return [*OrganizationAdmin.list_display, "stored_chunks", "stored_bytes"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        return super().get_queryset(request).select_related("usage")

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        storage_fields = ("stored_chunks", "stored_bytes", "stored_history") if obj else ()
        return (*super().get_readonly_fields(request, obj), *storage_fields)

    def count_deletions(self, objects: Sequence[Organization]) -> Mapping[str, int]:
        organization_ids = [organization.pk for organization in objects]
        sources = DataSource.objects.filter(organization__in=organization_ids, deleted_at=None)
        return {
            "organisations": len(organization_ids),
            "memberships": Membership.objects.filter(organization__in=organization_ids).count(),
            "data sources": sources.count(),
            "documents": Document.objects.live().filter(source__in=sources).count(),
        }

    def delete_model(self, request: HttpRequest, obj: Organization) -> None:
        deletion.delete_organization(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Organization]) -> None:
        for organization in queryset:
            deletion.delete_organization(organization)

    @admin.display(description=_("chunks stored"), ordering="usage__chunks")
    def stored_chunks(self, organization: Organization) -> str:
        used = _usage(organization).chunks
        return _format_usage(
            used, organization.max_chunks, *map(_with_separators, (used, organization.max_chunks or 0))
        )

    @admin.display(description=_("bytes stored"), ordering="usage__bytes")
    def stored_bytes(self, organization: Organization) -> str:
        used, limit = _usage(organization).bytes, organization.max_bytes
        return _format_usage(used, limit, filesizeformat(used), filesizeformat(limit or 0))

    @admin.display(description=_("history stored"))
    def stored_history(self, organization: Organization) -> str:
        """Show the size of the members' searches and conversations, including members of other organisations too."""
        members = Membership.objects.filter(organization=organization).values("user")
        total = HistoryUsage.objects.filter(user__in=members).aggregate(bytes=Sum("bytes"))["bytes"] or 0
        return filesizeformat(total)


def _with_separators(number: int) -> str:
    """Return the number as the page's language writes it."""
    return number_format(number, force_grouping=True)


def _usage(organization: Organization) -> Usage:
    return getattr(organization, "usage", None) or Usage()


def _format_usage(used: int, limit: int | None, used_text: str, limit_text: str) -> str | SafeString:
    """Render the used amount; with a limit also as a bar, whose colour changes when the limit is nearly reached."""
    if limit is None:
        return used_text
    high = limit * _QUOTA_WARNING_SHARE
    css_class = "over-quota" if used >= high else ""
    bar = format_html('<meter min="0" max="{}" high="{}" optimum="0" value="{}"></meter>', limit, high, used)
    return format_html('{} <span class="{}">{} {} {}</span>', bar, css_class, used_text, gettext("of"), limit_text)
