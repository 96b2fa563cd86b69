"""Data sources, and who may query them."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.formats import date_format

from orgs.access.caller import get_caller
from orgs.access.permissions import Visibility
from orgs.models import Organization
from rag.admin.base import SourceContentAdmin, choices, home_organizations
from rag.admin.reparsing import parse_again
from rag.models import Action, DataSource, Document, EmbeddingModel, Grant
from rag.services.sources import deletion, documents
from ragsite.postgres.models import as_uuid

from . import quality_page, reembedding_page, search_trace_page
from .upload_page import UploadPage


class SourceForm(forms.ModelForm):
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
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance._state.adding and "embedding_model" in self.fields:
            self.initial.setdefault("embedding_model", EmbeddingModel.objects.default().pk)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        owner, organization = values.get("owner"), values.get("organization") or _organization(self.instance)
        taken = DataSource.objects.filter(organization=organization, slug=values.get("slug"), deleted_at=None)
        if taken.exclude(pk=self.instance.pk).exists():  # the constraint has a condition, which no form checks
            self.add_error("slug", "The organisation has a source of this slug already.")
        if values.get("visibility") == Visibility.PERSONAL and owner is None:
            self.add_error("owner", "A personal source needs an owner: nobody else can query it.")
        if owner and organization and not owner.memberships.filter(organization=organization).exists():
            self.add_error("owner", f"{owner} is not a member of {organization}.")
        return values


def _organization(source: DataSource) -> Organization | None:
    return source.organization if source.organization_id else None


class GrantFormSet(forms.BaseInlineFormSet):
    """A grant must belong to the source's organisation and to its visibility: any other would only look like access."""

    def clean(self) -> None:
        super().clean()
        seen: set[tuple[Any, ...]] = set()
        for form in self.forms:
            who = tuple(form.cleaned_data.get(kind) for kind in Grant.COUNTS_FOR) if form.is_valid() else ()
            if any(who) and form not in self.deleted_forms:
                if who in seen:
                    form.add_error(None, "This row repeats another one.")
                seen.add(who)
            if form.has_changed() and form not in self.deleted_forms and not form.errors:
                self._check(form)

    def _check(self, form: forms.ModelForm) -> None:
        chosen = [(kind, form.cleaned_data[kind]) for kind in Grant.COUNTS_FOR if form.cleaned_data.get(kind)]
        if len(chosen) != 1:
            form.add_error(None, "Choose one person, one role or one team in each row.")
            return
        ((kind, who),) = chosen
        source, end = self.instance, form.cleaned_data.get("expires_at")
        if end and end <= timezone.now():
            form.add_error("expires_at", "This time is past: choose a later one. To end it now, delete the row.")
        if kind == "user":
            fits = who.memberships.filter(organization=source.organization_id).exists()
        else:
            fits = who.organization_id == source.organization_id
        if not fits:
            form.add_error(kind, f"{who} does not belong to the source's organisation.")
        if source.visibility != Grant.COUNTS_FOR[kind]:
            wanted = Grant.COUNTS_FOR[kind].value
            form.add_error(kind, f"This counts only while the visibility is “{wanted}”; it is “{source.visibility}”.")


class GrantInline(admin.TabularInline):
    model = Grant
    formset = GrantFormSet
    extra = 1
    max_num = 200
    fields = ("user", "role", "team", "expires_at", "state", "granted")
    readonly_fields = ("state", "granted")
    verbose_name = "person, role or team that may query it"
    verbose_name_plural = "who may query it (for the visibilities private, role and team)"

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        kwargs["queryset"] = choices(request, db_field.remote_field.model)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Without links to the chosen person, role or team: with them the row is wider than a page."""
        if db_field.is_relation:
            return self.formfield_for_foreignkey(db_field, request, **kwargs)
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    @admin.display(description="granted")
    def granted(self, grant: Grant) -> str:
        if grant._state.adding:
            return ""
        day = date_format(timezone.localtime(grant.granted_at))
        return f"{day} by {grant.granted_by}" if grant.granted_by else day

    @admin.display(description="")
    def state(self, grant: Grant) -> str:
        return "expired" if grant.expires_at and grant.expires_at <= timezone.now() else ""

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return True  # whoever sees the source's page

    has_change_permission = has_delete_permission = has_view_permission

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return True


@admin.register(DataSource)
class DataSourceAdmin(UploadPage, SourceContentAdmin):
    form = SourceForm
    inlines = (GrantInline,)
    list_display = ("name", "slug", "organization", "open_to", "owner", "embedding_model", "documents")
    list_filter = ("organization", "visibility", "source_type", "embedding_model")
    search_fields = ("name", "slug", "description")
    list_select_related = ("organization", "owner", "embedding_model")
    prepopulated_fields = {"slug": ("name",)}
    actions = ("parse_again",)

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        key = as_uuid(object_id)
        allowed = key and DataSource.objects.visible_to(get_caller(request), Action.INGEST).filter(pk=key).exists()
        address = reverse("admin:rag_datasource_upload", args=[object_id]) if allowed else ""
        kwargs["extra_context"] = {**(kwargs.get("extra_context") or {}), "upload_address": address}
        return super().change_view(request, object_id, *args, **kwargs)

    @admin.action(description="Parse all their documents again")
    def parse_again(self, request: HttpRequest, queryset: QuerySet[DataSource]) -> None:
        parse_again(self, request, Document.objects.filter(source__in=[source.pk for source in queryset]))

    def get_queryset(self, request: HttpRequest) -> QuerySet[DataSource]:
        live = Count("documents", filter=Q(documents__deleted_at=None))
        return super().get_queryset(request).annotate(document_count=live)

    def get_urls(self) -> list[URLPattern]:
        """Pages of one source, beside Django's own."""
        pages = (
            ("reembed", "reembed", reembedding_page.page),
            ("quality", "quality", quality_page.page),
            ("access", "access", search_trace_page.access),
            ("why", "why", search_trace_page.why),
            ("golden-questions.csv", "golden_export", quality_page.export),
        )
        view = self.admin_site.admin_view
        own = [path(f"<uuid:source_id>/{end}/", view(call), name=f"rag_datasource_{name}") for end, name, call in pages]
        return [*own, *super().get_urls()]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        homes = list(home_organizations(request)[:2])
        given = super().get_changeform_initial_data(request)
        return {"organization": homes[0].pk, "owner": request.user.pk, **given} if len(homes) == 1 else dict(given)

    @admin.display(ordering="document_count")
    def documents(self, source: Any) -> int:
        return int(source.document_count)

    @admin.display(description="stored")
    def stored(self, source: DataSource) -> str:
        count, chunks, size = documents.get_storage_totals(source)
        return f"{count:,} documents, {chunks:,} chunks, {filesizeformat(size)}"

    @admin.display(description="who may query it", ordering="visibility")
    def open_to(self, source: DataSource) -> str:
        return source.visibility

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        # Its vectors were made by its model (Re-embed moves them to another), its people belong to its organisation.
        return ("organization", "embedding_model", "stored") if obj else ()

    def get_prepopulated_fields(self, request: HttpRequest, obj: Model | None = None) -> dict[str, Any]:
        return {} if obj else super().get_prepopulated_fields(request, obj)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Counted, not collected: a source may have millions of chunks."""
        sources = DataSource.objects.filter(pk__in=[source.pk for source in objs])
        counts = {
            "data sources": sources.count(),
            "documents": Document.objects.live().filter(source__in=sources).count(),
        }
        return [f"{number} {name}" for name, number in counts.items()], counts, set(), []

    def save_model(self, request: HttpRequest, obj: DataSource, form: Any, change: bool) -> None:
        """What was changed, and no more: the source may have been switched to another model since it was read."""
        if change:
            obj.save(update_fields=[*form.changed_data, "updated_at"])
        else:
            super().save_model(request, obj, form, change)

    def delete_model(self, request: HttpRequest, obj: DataSource) -> None:
        deletion.delete_source(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[DataSource]) -> None:
        for source in queryset:
            deletion.delete_source(source)

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        for grant in formset.save(commit=False):  # the new ones and the changed ones
            grant.granted_by, grant.granted_at = request.user, timezone.now()
        super().save_formset(request, form, formset, change)
