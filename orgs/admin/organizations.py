"""Organisations in the admin.

Users with `members.manage` in an organisation manage this organisation, superusers all of them. The app `rag` adds its
storage to these pages with a subclass, which is registered instead: `rag/admin/organization_storage_admin.py`.
"""

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from orgs.access.permissions import Permission
from orgs.admin.bases.delegated_admin import RefusalAdmin
from orgs.admin.bases.request_permissions import holds_permission, manageable_organizations
from orgs.admin.bases.scoped_admin import ScopedAdmin
from orgs.admin.bases.versioned_form import VersionedForm
from orgs.creation import create_default_roles
from orgs.models import Organization

_LIMITS = ("queries_per_minute", "ingestions_per_minute", "agent_requests_per_minute", "service_searches_per_minute")


@admin.register(Organization)
class OrganizationAdmin(ScopedAdmin, RefusalAdmin):
    """Manages organisations. Only superusers create or delete them, or change their limits."""

    form = VersionedForm
    empty_text = _("Everything belongs to an organisation. Add the first one, then its first member under Memberships.")
    list_display = ("name", "slug", "default_visibility", "is_active", "created_at")
    list_filter = ("is_active",)
    search_fields = ("name", "slug")
    prepopulated_fields = {"slug": ("name",)}

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        # Slugs are unique on the whole platform, so choosing one would reveal which others exist. An organisation does
        # not decide itself how much of the platform it may use.
        return () if request.user.is_superuser else ("slug", "max_chunks", "max_bytes", *_LIMITS)

    def visible_rows(self, request: HttpRequest) -> QuerySet[Organization]:
        return manageable_organizations(request)

    def is_allowed(self, request: HttpRequest) -> bool:
        # In a new installation a superuser creates the first organisation here.
        return bool(request.user.is_superuser) or holds_permission(request, Permission.MEMBERS_MANAGE)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.is_active and request.user.is_superuser

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.is_active and request.user.is_superuser

    def save_model(
        self, request: HttpRequest, obj: Organization, form: "ModelForm[Organization]", change: bool
    ) -> None:
        super().save_model(request, obj, form, change)
        if not change:
            create_default_roles(obj)
