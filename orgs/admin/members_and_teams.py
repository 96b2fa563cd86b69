"""Members, roles and teams of organisations in the admin, for users with `members.manage`."""

import uuid
from typing import ClassVar, Protocol

from django import forms
from django.contrib import admin
from django.core.exceptions import NON_FIELD_ERRORS
from django.db.models import Count, Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
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
        help_texts: ClassVar[dict[str, object]] = {"user": _("Somebody who is not listed is invited instead.")}
        error_messages: ClassVar[dict[str, object]] = _taken(
            _("This person is a member already. Change the membership that exists.")
        )


class ListedGroup(Protocol):
    """A role or team as its list reads it."""

    pk: uuid.UUID
    size: int


class GroupAdmin(OrganizationRowsAdmin):
    """Base of the pages of roles and teams, which lead to the people who have them.

    Attributes:
        membership_field: The field of a membership that holds the rows.
    """

    change_form_template = "admin/orgs/group_change_form.html"
    membership_field: str

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        groups: QuerySet[Model] = super().get_queryset(request).annotate(size=Count("memberships"))
        return groups

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, object],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Model | None = None,
    ) -> HttpResponse:
        context["members_url"] = obj and self._members_url(obj.pk)
        return super().render_change_form(request, context, add, change, form_url, obj)

    @admin.display(description=_("own members"), ordering="size")
    def size(self, group: ListedGroup) -> SafeString:
        return format_html('<a href="{}">{}</a>', self._members_url(group.pk), group.size)

    def _members_url(self, pk: uuid.UUID) -> str:
        memberships = reverse("admin:orgs_membership_changelist")
        return f"{memberships}?{self.membership_field}__id__exact={pk}"


@admin.register(Role)
class RoleAdmin(GroupAdmin, GuardedAdmin):
    form = RoleForm
    membership_field = "roles"
    list_display = ("name", "organization", "allows", "size")
    list_filter = ("organization",)
    search_fields = ("name",)
    list_select_related = ("organization",)

    @admin.display(description=_("allows"))
    def allows(self, role: Role) -> SafeString | str:
        labels = dict(Permission.choices)
        return format_html_join("", "<div>{}</div>", ((labels.get(name, name),) for name in role.permissions)) or "—"


@admin.register(Team)
class TeamAdmin(GroupAdmin):
    form = TeamForm
    membership_field = "teams"
    empty_text = _(
        "A team is a group of members that a data source can be opened to. Add the first one, then choose it for "
        "people on the page Memberships."
    )
    list_display = ("name", "organization", "parent", "size")
    list_filter = ("organization",)
    search_fields = ("name",)
    list_select_related = ("organization", "parent__organization")


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
