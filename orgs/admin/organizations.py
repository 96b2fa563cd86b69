"""Organisations and their members, roles, teams and API keys in the admin.

Users with `members.manage` in an organisation manage this organisation, superusers all of them.
"""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import User
from orgs.access.permissions import DEFAULT_ROLES, Permission
from orgs.api_keys import service
from orgs.models import ApiKey, Membership, Organization, Role, Team
from orgs.models.api_keys import ApiKeyQuerySet

from .guarded import GuardedAdmin, RefusalAdmin
from .scoped import ScopedAdmin, organizations_with_permission


def manageable_organizations(request: HttpRequest) -> QuerySet[Organization]:
    """The organisations whose members the user of this request may change."""
    return organizations_with_permission(request, Permission.MEMBERS_MANAGE)


class PeopleAdmin(ScopedAdmin):
    """Base of pages whose rows belong to an organisation: only organisations that the user manages are offered."""

    def visible_rows(self, request: HttpRequest) -> QuerySet[Model]:
        queryset: QuerySet[Model] = self.model._default_manager.all()
        return queryset.filter(organization__in=manageable_organizations(request))

    def selectable_rows(self, request: HttpRequest, model: type[Model]) -> QuerySet[Model] | None:
        organizations = manageable_organizations(request)
        if model is Organization:
            return organizations
        if model in (Role, Team):
            return model._default_manager.filter(organization__in=organizations)
        if model is User and not request.user.is_superuser:
            # Members of the user's organisations. Only a superuser can add other people.
            return User.objects.filter(pk__in=Membership.objects.filter(organization__in=organizations).values("user"))
        return None

    def is_allowed(self, request: HttpRequest) -> bool:
        return manageable_organizations(request).exists()


_LIMITS = ("queries_per_minute", "ingestions_per_minute", "agent_requests_per_minute", "service_searches_per_minute")


@admin.register(Organization)
class OrganizationAdmin(ScopedAdmin, RefusalAdmin):
    """Manages organisations. Only superusers create or delete them, or change their limits."""

    list_display = ("name", "slug", "default_visibility", "is_active", "created_at")
    list_filter = ("is_active",)
    search_fields = ("name", "slug")
    prepopulated_fields = {"slug": ("name",)}

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        # Slugs are unique on the whole platform, so choosing one would reveal which others exist. An organisation does
        # not decide itself how much of the platform it may use.
        return () if request.user.is_superuser else ("slug", "max_chunks", "max_bytes", *_LIMITS)

    def get_prepopulated_fields(self, request: HttpRequest, obj: Model | None = None) -> dict[str, Any]:
        return {} if obj else super().get_prepopulated_fields(request, obj)

    def visible_rows(self, request: HttpRequest) -> QuerySet[Organization]:
        return manageable_organizations(request)

    def is_allowed(self, request: HttpRequest) -> bool:
        return manageable_organizations(request).exists()

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.is_active and request.user.is_superuser

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.is_active and request.user.is_superuser

    def save_model(
        self, request: HttpRequest, obj: Organization, form: "ModelForm[Organization]", change: bool
    ) -> None:
        super().save_model(request, obj, form, change)
        if not change:
            Role.objects.bulk_create(
                Role(organization=obj, name=name, permissions=permissions)
                for name, permissions in DEFAULT_ROLES.items()
            )


class RoleForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Offers the permissions as boxes to tick."""

    permissions = forms.MultipleChoiceField(
        choices=Permission.choices, widget=forms.CheckboxSelectMultiple, required=False, help_text="What it allows."
    )


@admin.register(Role)
class RoleAdmin(PeopleAdmin, GuardedAdmin):
    form = RoleForm
    list_display = ("name", "organization", "allows")
    list_filter = ("organization",)
    search_fields = ("name",)

    @admin.display(description="allows")
    def allows(self, role: Role) -> str:
        return ", ".join(role.permissions) or "—"


@admin.register(Team)
class TeamAdmin(PeopleAdmin):
    list_display = ("name", "organization", "parent", "size")
    list_filter = ("organization",)
    search_fields = ("name",)
    list_select_related = ("organization", "parent__organization")

    @admin.display(description="own members")
    def size(self, team: Team) -> int:
        return team.memberships.count()


class MembershipForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Refuses roles and teams of other organisations."""

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        for name in ("roles", "teams"):
            if any(row.organization != values.get("organization") for row in values.get(name) or ()):
                self.add_error(name, "Choose only what belongs to the organisation of the membership.")
        return values


@admin.register(Membership)
class MembershipAdmin(PeopleAdmin, GuardedAdmin):
    form = MembershipForm
    list_display = ("user", "organization", "role_names", "team_names", "is_active")
    list_filter = ("organization", "is_active", "roles", "teams")
    search_fields = ("user__email", "user__name")
    filter_horizontal = ("roles", "teams")
    list_select_related = ("user", "organization")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        return super().get_queryset(request).prefetch_related("roles", "teams")

    @admin.display(description="roles")
    def role_names(self, membership: Membership) -> str:
        return ", ".join(role.name for role in membership.roles.all()) or "—"

    @admin.display(description="teams")
    def team_names(self, membership: Membership) -> str:
        return ", ".join(team.name for team in membership.teams.all()) or "—"


@admin.register(ApiKey)
class ApiKeyAdmin(PeopleAdmin):
    """Lists and revokes API keys. Only the user of a key can create it, so that nobody else ever sees it."""

    list_display = (
        *("name", "prefix", "user", "organization", "allows", "restricted", "state"),
        *("expires_at", "last_used_at"),
    )
    list_filter = ("organization", "all_organizations")
    search_fields = ("name", "prefix", "user__email")
    list_select_related = ("user", "organization")
    # All fields except the hash.
    fields = (
        *("name", "prefix", "user", "organization", "all_organizations", "allows", "source_ids", "networks", "state"),
        *("created_at", "expires_at", "last_used_at", "refused_at", "flagged_at", "revoked_at"),
    )
    actions = ("revoke", "end_after_overlap")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    @admin.display(description="scopes")
    def allows(self, key: ApiKey) -> str:
        return ", ".join(key.scopes)

    @admin.display(description="restricted to")
    def restricted(self, key: ApiKey) -> str:
        lists = (("sources", key.source_ids), ("networks", key.networks))
        return ", ".join(f"{name}: {len(values)}" for name, values in lists if values is not None) or "—"

    @admin.action(description="Revoke the selected keys", permissions=["view"])
    def revoke(self, request: HttpRequest, keys: QuerySet[ApiKey]) -> None:
        number = service.revoke(keys)
        messages.success(request, f"Revoked: {number}. There is no way back.")

    @admin.action(description="Expire the selected keys in 24 hours", permissions=["view"])
    def end_after_overlap(self, request: HttpRequest, keys: ApiKeyQuerySet) -> None:
        """Expire keys without creating successors, because whoever creates a key sees it."""
        number = service.expire_by(keys, timezone.now() + service.DEFAULT_OVERLAP)
        messages.success(request, f"Ending in 24 hours: {number}. Their users replace them with POST …/rotate.")
