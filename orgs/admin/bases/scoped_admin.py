"""Bases of admin pages that show, offer and accept only rows that the user may see."""

import itertools
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import DataError, transaction
from django.db.models import Field as DbField
from django.db.models import ForeignKey, ManyToManyField, Model, QuerySet
from django.db.models.fields.related import RelatedField
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst, smart_split
from django.utils.translation import gettext

from accounts.models import User
from orgs.access.permissions import Permission
from orgs.models import Membership, Organization, Role, Team

from .deletions import describe_deletions
from .object_pages import ObjectPagesMixin
from .permitted_links import limit_links
from .plain_change_list import PlainChangeList
from .request_permissions import holds_permission, manageable_organizations, only_organization, remember

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# Each word of a search is compared with all rows. More words could only leave out rows that have all of these.
_MAX_SEARCHED_WORDS = 20
# Django's text, which Django translates.
_CHOICE = "Select this object for an action - {}"


def _one_transaction(request: HttpRequest) -> AbstractContextManager[None]:
    """Return a context in which a list is read in one transaction: each of its own needs two more round trips."""
    return transaction.atomic() if request.method == "GET" else nullcontext()


def without_links(field: forms.Field | None) -> forms.Field | None:
    """Return a form's field without Django's icons, which open the pages of its rows in another window."""
    if field and isinstance(field.widget, RelatedFieldWidgetWrapper):
        field.widget = field.widget.widget
    return field


class ScopedRelatedFilter(admin.RelatedFieldListFilter):
    """Limits the choices of a filter to the rows that the page's forms offer."""

    def field_choices(
        self, field: "RelatedField[object, object]", request: HttpRequest, model_admin: "admin.ModelAdmin[Model]"
    ) -> list[tuple[str, "StrOrPromise"]]:
        rows = (
            model_admin.selectable_rows(request, field.remote_field.model)
            if isinstance(model_admin, ScopedAdmin)
            else None
        )
        if rows is None:
            return list(super().field_choices(field, request, model_admin))
        return [(str(row.pk), str(row)) for row in rows[:200]]


class ScopedAdmin(ObjectPagesMixin):
    """An admin page restricted to the rows that its user may see.

    Subclasses define which rows are visible, which rows of other models can be selected, and who may open the page.
    Django's model permissions have no effect, because rights follow from roles in organisations.
    """

    def action_checkbox(self, obj: Model) -> SafeString:
        """Return the box that chooses a row. Django renders a template for each."""
        label = format_html(gettext(_CHOICE), str(obj))
        box = '<input type="checkbox" name="{}" value="{}" class="action-select" aria-label="{}">'
        return format_html(box, ACTION_CHECKBOX_NAME, obj.pk, label)

    show_facets = admin.ShowFacets.NEVER  # each would count all rows
    empty_text: "StrOrPromise" = ""  # what the list says while it is empty: what its rows are for

    def visible_rows(self, request: HttpRequest) -> QuerySet[Model]:
        """Return the rows that the user of this request may see and change."""
        raise NotImplementedError

    def is_allowed(self, request: HttpRequest) -> bool:
        """Return whether the user of this request may open the page."""
        raise NotImplementedError

    def selectable_rows(self, request: HttpRequest, model: type[Model]) -> QuerySet[Model] | None:
        """Return the rows of `model` that forms and filters of this page offer; None for all rows."""
        return None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return self.visible_rows(request).order_by(
            *(self.get_ordering(request) or self.model._meta.ordering or ("pk",))
        )

    def get_prepopulated_fields(self, request: HttpRequest, obj: Model | None = None) -> dict[str, Sequence[str]]:
        """Return the fields that the form of a new row fills in from others; a stored slug keeps its value."""
        return {} if obj else super().get_prepopulated_fields(request, obj)

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """Return the columns; without that of the organisation for those who see only one."""
        names = list(super().get_list_display(request))
        hidden = {"organization", "organization_name"} & set(names)
        return [name for name in names if name not in hidden] if hidden and only_organization(request) else names

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        related = {field.name for field in self.model._meta.get_fields() if field.is_relation}
        return [(name, ScopedRelatedFilter) if name in related else name for name in super().get_list_filter(request)]

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Accept only the filters of the page: any other one in the URL could reveal fields that the page hides."""
        names = {entry[0] if isinstance(entry, tuple) else entry for entry in self.get_list_filter(request)}
        field, _, how = lookup.partition("__")
        return field in names and "regex" not in how and super().lookup_allowed(lookup, value, request)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        words = itertools.islice(smart_split(search_term), _MAX_SEARCHED_WORDS)
        return super().get_search_results(request, queryset, " ".join(words))

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        extra_context = {"title": capfirst(self.opts.verbose_name_plural), **(extra_context or {})}
        try:
            with _one_transaction(request):
                return super().changelist_view(request, extra_context)
        except (DataError, ValidationError, ValueError, OverflowError):  # the URL has unknown filters
            return HttpResponseRedirect(f"{request.path}?e=1")

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[PlainChangeList]:
        return PlainChangeList

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Model | None = None,
    ) -> HttpResponse:
        context["adminform"] = limit_links(context["adminform"], request)
        context["show_save_and_add_another"] = False
        if original := context.get("original"):
            context["title"] = capfirst(self.opts.verbose_name)
            if context["subtitle"] == str(original):
                context["subtitle"] = self.object_title(request, original)
        return super().render_change_form(request, context, add, change, form_url, obj)

    def object_title(self, request: HttpRequest, obj: Model) -> str:
        """Return a role's or team's name without the organisation for those who see only one, as in the list."""
        return obj.name if isinstance(obj, (Role, Team)) and only_organization(request) else str(obj)

    def get_deleted_objects(
        self, objs: Sequence[Model] | QuerySet[Model], request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """Show how many related rows are deleted, not which: the user may not be allowed to see their names."""
        _, counts, needed, protected = super().get_deleted_objects(objs, request)
        return describe_deletions(counts), counts, needed, protected

    def has_module_permission(self, request: HttpRequest) -> bool:
        # Django's admin calls this about 16 times for each model and page, and each call would take several queries.
        return remember(request, self.model, lambda: request.user.is_active and self.is_allowed(request))

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        if not self.has_module_permission(request):
            return False
        # Django's admin asks this about ten times for the row of a page. `save_related` checks again what was saved.
        return obj is None or remember(
            request, (self.model, obj.pk), lambda: self.visible_rows(request).filter(pk=obj.pk).exists()
        )

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.has_view_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.has_view_permission(request, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_module_permission(request)

    def formfield_for_dbfield(
        self, db_field: "DbField[object, object]", request: HttpRequest, **kwargs: object
    ) -> forms.Field | None:
        """Offer rows of other models without icons that open their pages in another window."""
        return without_links(super().formfield_for_dbfield(db_field, request, **kwargs))

    def formfield_for_foreignkey(
        self, db_field: "ForeignKey[object, object]", request: HttpRequest, **kwargs: Any
    ) -> "forms.ModelChoiceField[Model] | None":
        if (queryset := self.selectable_rows(request, db_field.remote_field.model)) is not None:
            kwargs["queryset"] = queryset
        if db_field.name == "organization" and (only := only_organization(request)):
            kwargs |= {"initial": only, "widget": forms.HiddenInput}
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def formfield_for_manytomany(
        self, db_field: "ManyToManyField[Model, Model]", request: HttpRequest, **kwargs: Any
    ) -> "forms.ModelMultipleChoiceField[Model] | None":
        if (queryset := self.selectable_rows(request, db_field.remote_field.model)) is not None:
            kwargs["queryset"] = queryset
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def save_related(
        self,
        request: HttpRequest,
        form: "forms.ModelForm[Model]",
        formsets: "Iterable[forms.BaseFormSet[forms.ModelForm[Model]]]",
        change: bool,
    ) -> None:
        """Check after the write, inside its transaction, that the saved row is still visible to its writer."""
        super().save_related(request, form, formsets, change)
        if not self.visible_rows(request).filter(pk=form.instance.pk).exists():
            raise PermissionDenied


class OrganizationRowsAdmin(ScopedAdmin):
    """Base of pages whose rows belong to an organisation: only organisations that the user manages are offered."""

    def managed_organizations(self, request: HttpRequest) -> QuerySet[Organization]:
        """Return the organisations whose rows the user may manage on this page."""
        return manageable_organizations(request)

    def visible_rows(self, request: HttpRequest) -> QuerySet[Model]:
        queryset: QuerySet[Model] = self.model._default_manager.all()
        return queryset.filter(organization__in=self.managed_organizations(request))

    def selectable_rows(self, request: HttpRequest, model: type[Model]) -> QuerySet[Model] | None:
        organizations = self.managed_organizations(request)
        if model is Organization:
            return organizations
        if model in (Role, Team):
            # A choice is named with its organisation.
            return model._default_manager.filter(organization__in=organizations).select_related("organization")
        if model is User and not request.user.is_superuser:
            # Members of the user's organisations. Only a superuser can add other people.
            return User.objects.filter(pk__in=Membership.objects.filter(organization__in=organizations).values("user"))
        return None

    def is_allowed(self, request: HttpRequest) -> bool:
        return holds_permission(request, Permission.MEMBERS_MANAGE)
