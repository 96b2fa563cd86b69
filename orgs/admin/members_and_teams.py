"""Members, roles and teams of organisations in the admin, for users with `members.manage`."""

from typing import ClassVar, Protocol

from django import forms
from django.contrib import admin
from django.core.exceptions import NON_FIELD_ERRORS
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from orgs.access.permissions import Permission
from orgs.admin.bases.delegated_admin import GuardedAdmin
from orgs.admin.bases.one_organization_admin import OneOrganizationAdmin, OneOrganizationForm
from orgs.admin.bases.scoped_admin import OrganizationRowsAdmin
from orgs.admin.bases.versioned_form import VersionedForm
from orgs.models import Membership, Role, Team

_NAME_HELP = _("Letters from a to z, digits, hyphens and underscores, such as sales-south.")
_NAME_ERRORS = {"invalid": _("Use only letters from a to z, digits, hyphens and underscores, such as sales-south.")}


def _taken(message: object) -> dict[str, object]:
    """Return what a form says about a row that exists already."""
    return {NON_FIELD_ERRORS: {"unique_together": message}}


class RoleForm(VersionedForm):
    """Offers the permissions as boxes to tick."""

    permissions = forms.MultipleChoiceField(
        label=_("Permissions"),
        choices=Permission.choices,
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text=_("What it allows."),
    )

    class Meta:
        help_texts: ClassVar[dict[str, object]] = {"name": _NAME_HELP}
        error_messages: ClassVar[dict[str, object]] = {
            "name": _NAME_ERRORS,
            **_taken(_("The organisation has a role with this name. Choose another name.")),
        }


class TeamForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at runtime
    class Meta:
        help_texts: ClassVar[dict[str, object]] = {"name": _NAME_HELP}
        error_messages: ClassVar[dict[str, object]] = {
            "name": _NAME_ERRORS,
            **_taken(_("The organisation has a team with this name. Choose another name.")),
        }


class MembershipForm(VersionedForm, OneOrganizationForm):
    class Meta:
        error_messages: ClassVar[dict[str, object]] = _taken(
            _("This person is a member already. Change the membership that exists.")
        )


@admin.register(Role)
class RoleAdmin(OrganizationRowsAdmin, GuardedAdmin):
    form = RoleForm
    list_display = ("name", "organization", "allows")
    list_filter = ("organization",)
    search_fields = ("name",)
    list_select_related = ("organization",)

    @admin.display(description=_("allows"))
    def allows(self, role: Role) -> SafeString | str:
        labels = dict(Permission.choices)
        return format_html_join("", "<div>{}</div>", ((labels.get(name, name),) for name in role.permissions)) or "—"


class ListedTeam(Protocol):
    """A team as the list of teams reads it."""

    size: int


@admin.register(Team)
class TeamAdmin(OrganizationRowsAdmin):
    form = TeamForm
    empty_text = _(
        "A team is a group of members that a data source can be opened to. Add the first one, then choose it for "
        "people on the page Memberships."
    )
    list_display = ("name", "organization", "parent", "size")
    list_filter = ("organization",)
    search_fields = ("name",)
    list_select_related = ("organization", "parent__organization")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Team]:
        teams: QuerySet[Team] = super().get_queryset(request).annotate(size=Count("memberships"))
        return teams

    @admin.display(description=_("own members"), ordering="size")
    def size(self, team: ListedTeam) -> int:
        return team.size


@admin.register(Membership)
class MembershipAdmin(OneOrganizationAdmin, GuardedAdmin):
    form = MembershipForm
    list_display = ("user", "organization", "role_names", "team_names", "is_active")
    list_filter = ("organization", "is_active", "roles", "teams")
    search_fields = ("user__email", "user__name")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        # With what names a row: somebody who loses their own membership during a request cannot read that any more.
        rows = super().get_queryset(request).select_related("user", "organization")
        return rows.prefetch_related("roles", "teams")
