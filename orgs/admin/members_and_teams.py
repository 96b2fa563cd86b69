"""Members, roles and teams of organisations in the admin, for users with `members.manage`."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from orgs.access.permissions import Permission
from orgs.models import Membership, Role, Team

from .delegated_admin import GuardedAdmin
from .scoped_admin import OrganizationRowsAdmin


class RoleForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Offers the permissions as boxes to tick."""

    permissions = forms.MultipleChoiceField(
        choices=Permission.choices, widget=forms.CheckboxSelectMultiple, required=False, help_text="What it allows."
    )


@admin.register(Role)
class RoleAdmin(OrganizationRowsAdmin, GuardedAdmin):
    form = RoleForm
    list_display = ("name", "organization", "allows")
    list_filter = ("organization",)
    search_fields = ("name",)

    @admin.display(description="allows")
    def allows(self, role: Role) -> str:
        return ", ".join(role.permissions) or "—"


@admin.register(Team)
class TeamAdmin(OrganizationRowsAdmin):
    list_display = ("name", "organization", "parent", "size")
    list_filter = ("organization",)
    search_fields = ("name",)
    list_select_related = ("organization", "parent__organization")

    @admin.display(description="own members")
    def size(self, team: Team) -> int:
        return team.memberships.count()


class MembershipForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Offers only roles and teams of the membership's organisation, and refuses others."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.organization_id:  # a new membership's organisation is chosen in the same form
            for name in {"roles", "teams"} & self.fields.keys():
                field: Any = self.fields[name]
                field.queryset = field.queryset.filter(organization=self.instance.organization_id)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        for name in ("roles", "teams"):
            if any(row.organization != values.get("organization") for row in values.get(name) or ()):
                self.add_error(name, "Choose only what belongs to the organisation of the membership.")
        return values


@admin.register(Membership)
class MembershipAdmin(OrganizationRowsAdmin, GuardedAdmin):
    form = MembershipForm
    list_display = ("user", "organization", "role_names", "team_names", "is_active")
    list_filter = ("organization", "is_active", "roles", "teams")
    search_fields = ("user__email", "user__name")
    list_select_related = ("user", "organization")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        return super().get_queryset(request).prefetch_related("roles", "teams")

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        return super().formfield_for_manytomany(db_field, request, widget=forms.CheckboxSelectMultiple, **kwargs)

    @admin.display(description="roles")
    def role_names(self, membership: Membership) -> str:
        return ", ".join(role.name for role in membership.roles.all()) or "—"

    @admin.display(description="teams")
    def team_names(self, membership: Membership) -> str:
        return ", ".join(team.name for team in membership.teams.all()) or "—"
