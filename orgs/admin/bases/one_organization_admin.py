"""Base of admin pages whose forms offer roles and teams: those of one organisation only."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import ManyToManyField, Model
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.audit.events import MAX_ORGANIZATION_NAME_CHARACTERS
from orgs.models import Invitation, Membership, Role, Team
from ragsite.postgres.models import as_uuid

from .request_permissions import manageable_organizations
from .scoped_admin import OrganizationRowsAdmin

_OFFERED_ORGANIZATIONS = 50


class OneOrganizationForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Offers only roles and teams of the row's organisation, and refuses others."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        organization_id = self.instance.organization_id or as_uuid(
            str(self.data.get("organization") or self.initial.get("organization") or "")
        )
        for name in {"roles", "teams"} & self.fields.keys():
            field: Any = self.fields[name]
            field.queryset = field.queryset.filter(organization=organization_id)
            field.label_from_instance = lambda row: row.name
        if not self.instance.organization_id and "organization" in self.fields:
            organization: Any = self.fields["organization"]
            organization.queryset = organization.queryset.filter(pk=organization_id)
            organization.empty_label = None

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        for name in ("roles", "teams"):
            if any(row.organization != values.get("organization") for row in values.get(name) or ()):
                self.add_error(name, gettext("Choose only what belongs to the organisation."))
        return values


class OneOrganizationAdmin(OrganizationRowsAdmin):
    """Asks for the organisation before the form of a new row, if its user manages several.

    The rows have roles and teams, whose names `role_names` and `team_names` list.
    """

    form = OneOrganizationForm

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        initial = super().get_changeform_initial_data(request)
        organizations = list(manageable_organizations(request).values_list("pk", flat=True)[:2])
        return {**initial, "organization": organizations[0]} if len(organizations) == 1 else initial

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        organization_id = as_uuid(request.GET.get("organization", ""))
        organizations = manageable_organizations(request).order_by("name")
        if request.method == "POST" or not self.has_add_permission(request) or len(organizations[:2]) < 2:
            return super().add_view(request, form_url, extra_context)
        if organization_id and organizations.filter(pk=organization_id).exists():
            return super().add_view(request, form_url, extra_context)
        search = request.GET.get("q", "")[:MAX_ORGANIZATION_NAME_CHARACTERS].replace("\0", "")
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Add {verbose_name}: choose the organisation").format(verbose_name=self.opts.verbose_name),
            "opts": self.opts,
            "search": search,
            # What the link to this form fills in already.
            "kept": [(name, value) for name, value in request.GET.items() if name not in ("q", "organization")],
            "organizations": organizations.filter(name__icontains=search)[:_OFFERED_ORGANIZATIONS],
        }
        return TemplateResponse(request, "admin/orgs/choose_organization.html", context)

    def formfield_for_manytomany(
        self, db_field: "ManyToManyField[Model, Model]", request: HttpRequest, **kwargs: Any
    ) -> "forms.ModelMultipleChoiceField[Model] | None":
        return super().formfield_for_manytomany(db_field, request, widget=forms.CheckboxSelectMultiple, **kwargs)

    @admin.display(description=_("roles"))
    def role_names(self, row: Membership | Invitation) -> str:
        return _list_names(row.roles.all())

    @admin.display(description=_("teams"))
    def team_names(self, row: Membership | Invitation) -> str:
        return _list_names(row.teams.all())


def _list_names(rows: Iterable[Role | Team]) -> str:
    return ", ".join(row.name for row in rows) or "—"
