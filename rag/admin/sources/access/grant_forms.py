"""The grants on the page of a data source: one row for each person, role or team that may query it."""

import datetime
import uuid
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AdminSplitDateTime
from django.db import models
from django.db.models import Field as DbField
from django.db.models import Model
from django.forms import Field as FormField
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from rag.models import DataSource, Grant
from rag.models.grants import MAX_GRANTS_PER_KIND

from . import grantees

_NAMED = _("person, role or team")
# The id of the list of suggestions, which the page of a data source has once.
SUGGESTIONS_ID = "grantee-suggestions"


class GrantForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Names a person, a role or a team in one field that suggests them."""

    grantee = forms.CharField(
        label=_NAMED,
        max_length=300,
        widget=forms.TextInput(
            attrs={"list": SUGGESTIONS_ID, "autocomplete": "off", "class": "vTextField", "placeholder": _NAMED}
        ),
    )

    class Meta:
        model = Grant
        fields = ("expires_at",)

    def __init__(self, *args: Any, source: DataSource | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._source = source
        if self.instance.pk:
            self.initial.setdefault("grantee", grantees.label(self.instance))

    def clean_grantee(self) -> str:
        """Put the grantee into the row, whose constraints are checked after that."""
        text = str(self.cleaned_data["grantee"])
        if self._source is None or not self._source.organization_id:
            raise forms.ValidationError(gettext("Choose the organisation first."))
        try:
            kind, grantee = grantees.resolve(text, self._source.organization)
        except grantees.UnknownGrantee as unknown:
            raise forms.ValidationError(str(unknown)) from None
        for name in Grant.VISIBILITY_BY_KIND:
            setattr(self.instance, name, grantee if name == kind else None)
        required = Grant.VISIBILITY_BY_KIND[kind].value
        if "grantee" in self.changed_data and self._source.visibility != required:
            message = gettext("This has an effect only with the visibility “{required}”; it is “{visibility}”.").format(
                required=required, visibility=self._source.visibility
            )
            raise forms.ValidationError(message)
        return text

    def clean_expires_at(self) -> datetime.datetime | None:
        expires_at: datetime.datetime | None = self.cleaned_data["expires_at"]
        if expires_at and "expires_at" in self.changed_data and expires_at <= timezone.now():
            raise forms.ValidationError(
                gettext("This time is in the past. Choose a later one, or delete the row to end the access now.")
            )
        return expires_at


class LabelledCheckbox(forms.CheckboxInput):
    """A box of a table that is named at the box: its column has no heading on a phone."""

    def render(self, *args: Any, **kwargs: Any) -> SafeString:
        box = super().render(*args, **kwargs)
        return format_html('<label>{} <span class="cell-label">{}</span></label>', box, gettext("Delete"))


class LabelledDateTime(AdminSplitDateTime):
    """A date and time of a table, with the name of its column, which has no heading on a phone."""

    def render(self, *args: Any, **kwargs: Any) -> SafeString:
        fields = super().render(*args, **kwargs)
        return format_html(
            '<span class="cell-label" aria-hidden="true">{}</span>{}', capfirst(gettext("until")), fields
        )


class GrantFormSet(forms.BaseInlineFormSet):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Gives the forms their data source, and rejects rows that repeat another one, and too many of one kind."""

    deletion_widget = LabelledCheckbox

    def get_form_kwargs(self, index: int | None) -> dict[str, object]:
        return {**super().get_form_kwargs(index), "source": self.instance}

    def clean(self) -> None:
        super().clean()
        seen: set[tuple[uuid.UUID | None, ...]] = set()
        for form in self.forms:
            if form in self.deleted_forms or not form.is_valid() or not form.cleaned_data.get("grantee"):
                continue
            grantee = tuple(getattr(form.instance, f"{kind}_id") for kind in Grant.VISIBILITY_BY_KIND)
            if grantee in seen:
                form.add_error(None, gettext("This row repeats another row."))
            seen.add(grantee)
        for of_kind in zip(*seen, strict=True):
            if sum(grantee_id is not None for grantee_id in of_kind) > MAX_GRANTS_PER_KIND:
                message = gettext("A data source can have at most {number} people, {number} roles and {number} teams.")
                raise forms.ValidationError(message.format(number=MAX_GRANTS_PER_KIND))


def _label_widgets(widget: forms.Widget, name: str) -> None:
    """Name the fields of a row for screen readers: only the column has a heading."""
    parts = getattr(widget, "widgets", ())
    for part, end in zip(parts, (gettext("date"), gettext("time")), strict=False):
        part.attrs["aria-label"] = f"{name}: {end}"
    if not parts:  # the attributes of a field of several parts replace those of its parts
        widget.attrs["aria-label"] = name


class GrantInline(admin.TabularInline):  # type: ignore[type-arg]  # not subscriptable at runtime
    model = Grant
    form = GrantForm
    formset = GrantFormSet
    formfield_overrides = {models.DateTimeField: {"widget": LabelledDateTime}}
    extra = 1
    max_num = MAX_GRANTS_PER_KIND * len(Grant.VISIBILITY_BY_KIND)
    fields = ("grantee", "expires_at", "state", "granted")
    readonly_fields = ("state", "granted")
    verbose_name = _("person, role or team that may query it")
    verbose_name_plural = _("chosen people, roles and teams (without effect on a public or personal source)")

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Grant]:
        # With what names a row, also by its __str__.
        rows: models.QuerySet[Grant] = super().get_queryset(request)
        return rows.select_related("source", "user", "role__organization", "team__organization", "granted_by")

    def get_formset(
        self, request: HttpRequest, obj: Model | None = None, **kwargs: Any
    ) -> "type[forms.BaseInlineFormSet[Model, Model, forms.ModelForm[Model]]]":
        # As many forms are built for a request that says that it has more.
        formset = super().get_formset(request, obj, **{"absolute_max": self.max_num, **kwargs})
        _label_widgets(formset.form.base_fields["grantee"].widget, str(_NAMED))
        return formset

    def formfield_for_dbfield(
        self, db_field: "DbField[object, object]", request: HttpRequest, **kwargs: object
    ) -> FormField | None:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field:
            _label_widgets(field.widget, str(db_field.verbose_name))
        return field

    @admin.display(description=_("granted"))
    def granted(self, grant: Grant) -> str:
        if grant._state.adding:
            return ""
        date = date_format(timezone.localtime(grant.granted_at))
        text = date
        if grant.granted_by:
            text = gettext("{date} by {granted_by}").format(date=date, granted_by=grant.granted_by)
        label = capfirst(gettext("granted"))
        return format_html('<span class="cell-label" aria-hidden="true">{}: </span>{}', label, text)

    @admin.display(description="")
    def state(self, grant: Grant) -> str:
        return gettext("expired") if grant.expires_at and grant.expires_at <= timezone.now() else ""

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return True  # everybody who may open the page of the data source

    has_change_permission = has_delete_permission = has_view_permission

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return True
