"""Members, roles and teams of organisations in the admin, for users with `members.manage`."""

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from orgs.access.permissions import Permission
from orgs.admin.bases.delegated_admin import GuardedAdmin
from orgs.admin.bases.one_organization_admin import OneOrganizationAdmin
from orgs.admin.bases.scoped_admin import OrganizationRowsAdmin
from orgs.models import Membership, Role, Team


class RoleForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Offers the permissions as boxes to tick."""

    permissions = forms.MultipleChoiceField(
        choices=Permission.choices, widget=forms.CheckboxSelectMultiple, required=False, help_text=_("What it allows.")
    )


@admin.register(Role)
class RoleAdmin(OrganizationRowsAdmin, GuardedAdmin):
    form = RoleForm
    list_display = ("name", "organization", "allows")
    list_filter = ("organization",)
    search_fields = ("name",)

    @admin.display(description=_("allows"))
    def allows(self, role: Role) -> SafeString | str:
        labels = dict(Permission.choices)
        return format_html_join("", "<div>{}</div>", ((labels.get(name, name),) for name in role.permissions)) or "—"


@admin.register(Team)
class TeamAdmin(OrganizationRowsAdmin):
    list_display = ("name", "organization", "parent", "size")
    list_filter = ("organization",)
    search_fields = ("name",)
    list_select_related = ("organization", "parent__organization")

    @admin.display(description=_("own members"))
    def size(self, team: Team) -> int:
        return team.memberships.count()


@admin.register(Membership)
class MembershipAdmin(OneOrganizationAdmin, GuardedAdmin):
    list_display = ("user", "organization", "role_names", "team_names", "is_active")
    list_filter = ("organization", "is_active", "roles", "teams")
    search_fields = ("user__email", "user__name")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        # With what names a row: somebody who loses their own membership during a request cannot read that any more.
        rows = super().get_queryset(request).select_related("user", "organization")
        return rows.prefetch_related("roles", "teams")

    @admin.display(description=_("roles"))
    def role_names(self, membership: Membership) -> str:
        return ", ".join(role.name for role in membership.roles.all()) or "—"

    @admin.display(description=_("teams"))
    def team_names(self, membership: Membership) -> str:
        return ", ".join(team.name for team in membership.teams.all()) or "—"
