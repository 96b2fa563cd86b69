"""The forms of a data source and of its grants."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format

from orgs.access.permissions import Visibility
from orgs.models import Organization
from rag.admin.base import selectable_rows
from rag.models import DataSource, EmbeddingModel, Grant


class SourceForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at runtime
    class Meta:
        model = DataSource
        fields = (
            "organization",
            "name",
            "slug",
            "description",
            "visibility",
            "owner",
            "source_type",
            "embedding_model",
            "has_ocr",
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance._state.adding and "embedding_model" in self.fields:
            self.initial.setdefault("embedding_model", EmbeddingModel.objects.default().pk)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        owner, organization = values.get("owner"), values.get("organization") or _organization(self.instance)
        same_slug = DataSource.objects.filter(organization=organization, slug=values.get("slug"), deleted_at=None)
        if same_slug.exclude(pk=self.instance.pk).exists():  # forms do not check constraints with a condition
            self.add_error("slug", "The organisation already has a data source with this slug. Choose another one.")
        if values.get("visibility") == Visibility.PERSONAL and owner is None:
            self.add_error("owner", "A personal data source needs an owner: only its owner may query it.")
        if owner and organization and not owner.memberships.filter(organization=organization).exists():
            self.add_error("owner", f"{owner} is not a member of {organization}.")
        return values


def _organization(source: DataSource) -> Organization | None:
    return source.organization if source.organization_id else None


class GrantFormSet(forms.BaseInlineFormSet):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Rejects grants without effect: to a user, role or team of another organisation, or not for the visibility."""

    def clean(self) -> None:
        super().clean()
        grantees: set[tuple[Any, ...]] = set()
        for form in self.forms:
            grantee = tuple(form.cleaned_data.get(kind) for kind in Grant.COUNTS_FOR) if form.is_valid() else ()
            if any(grantee) and form not in self.deleted_forms:
                if grantee in grantees:
                    form.add_error(None, "This row repeats another row.")
                grantees.add(grantee)
            if form.has_changed() and form not in self.deleted_forms and not form.errors:
                self._check(form)

    def _check(self, form: "forms.ModelForm[Grant]") -> None:
        """Add an error to the form of a grant that would have no effect."""
        grantees = [(kind, form.cleaned_data[kind]) for kind in Grant.COUNTS_FOR if form.cleaned_data.get(kind)]
        if len(grantees) != 1:
            form.add_error(None, "Choose exactly one user, role or team in each row.")
            return
        ((kind, grantee),) = grantees
        source, expires_at = self.instance, form.cleaned_data.get("expires_at")
        if expires_at and expires_at <= timezone.now():
            form.add_error(
                "expires_at", "This time is in the past. Choose a later one, or delete the row to end the access now."
            )
        if kind == "user":
            is_valid = grantee.memberships.filter(organization=source.organization_id).exists()
        else:
            is_valid = grantee.organization_id == source.organization_id
        if not is_valid:
            form.add_error(kind, f"{grantee} does not belong to the data source's organisation.")
        if source.visibility != Grant.COUNTS_FOR[kind]:
            required = Grant.COUNTS_FOR[kind].value
            message = f"This has an effect only with the visibility “{required}”; it is “{source.visibility}”."
            form.add_error(kind, message)


def _label_widgets(widget: Any, name: str) -> None:
    """Name the fields of a row for screen readers: only the column has a heading."""
    widget.attrs["aria-label"] = name
    for part, end in zip(getattr(widget, "widgets", ()), ("date", "time"), strict=False):
        part.attrs["aria-label"] = f"{name}: {end}"


class GrantInline(admin.TabularInline):  # type: ignore[type-arg]  # not subscriptable at runtime
    model = Grant
    formset = GrantFormSet
    extra = 1
    max_num = 200
    fields = ("user", "role", "team", "expires_at", "state", "granted")
    readonly_fields = ("state", "granted")
    verbose_name = "user, role or team that may query it"
    verbose_name_plural = "who may query it (for the visibilities private, role and team)"

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        kwargs["queryset"] = selectable_rows(request, db_field.remote_field.model)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Leave out the links that Django adds to related rows: with them the table is wider than the page."""
        if db_field.is_relation:
            field = self.formfield_for_foreignkey(db_field, request, **kwargs)
        else:
            field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field:
            _label_widgets(field.widget, str(db_field.verbose_name))
        return field

    @admin.display(description="granted")
    def granted(self, grant: Grant) -> str:
        if grant._state.adding:
            return ""
        date = date_format(timezone.localtime(grant.granted_at))
        return f"{date} by {grant.granted_by}" if grant.granted_by else date

    @admin.display(description="")
    def state(self, grant: Grant) -> str:
        return "expired" if grant.expires_at and grant.expires_at <= timezone.now() else ""

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return True  # everybody who may open the page of the data source

    has_change_permission = has_delete_permission = has_view_permission

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return True
