"""Data sources, who may query them, and their documents."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Count, Model, Q, QuerySet
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.urls import path, reverse

from accounts.models import User
from orgs.models import Organization
from orgs.permissions import Visibility
from rag import storage
from rag.errors import RagError
from rag.models import Action, DataSource, Document, EmbeddingModel, Grant
from rag.services import deletion, reparsing
from ragsite.db import as_uuid

from .base import SourceContentAdmin, choices, home_organizations
from .uploads import UploadPage


def parse_again(page: admin.ModelAdmin, request: HttpRequest, documents: QuerySet[Document]) -> None:
    """For an action: from their stored originals or texts, where the user may send documents."""
    assert isinstance(request.user, User)
    try:
        jobs = reparsing.parse_again(request.user, documents)
    except RagError as error:
        page.message_user(request, error.message, messages.ERROR)
        return
    count = sum(job.documents.count() for job in jobs)
    level = messages.SUCCESS if jobs else messages.WARNING
    page.message_user(request, f"{count} documents are parsed again, by {len(jobs)} jobs.", level)


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
        source = self.instance
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
    fields = ("user", "role", "team", "granted_by", "granted_at")
    readonly_fields = ("granted_by", "granted_at")
    verbose_name = "person, role or team that may query it"
    verbose_name_plural = "who may query it (for the visibilities private, role and team)"

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        kwargs["queryset"] = choices(request, db_field.remote_field.model)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

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
        allowed = key and DataSource.objects.visible_to(request.user, Action.INGEST).filter(pk=key).exists()
        address = reverse("admin:rag_datasource_upload", args=[object_id]) if allowed else ""
        kwargs["extra_context"] = {**(kwargs.get("extra_context") or {}), "upload_address": address}
        return super().change_view(request, object_id, *args, **kwargs)

    @admin.action(description="Parse all their documents again")
    def parse_again(self, request: HttpRequest, queryset: QuerySet[DataSource]) -> None:
        parse_again(self, request, Document.objects.filter(source__in=[source.pk for source in queryset]))

    def get_queryset(self, request: HttpRequest) -> QuerySet[DataSource]:
        live = Count("documents", filter=Q(documents__deleted_at=None))
        return super().get_queryset(request).annotate(document_count=live)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        homes = list(home_organizations(request)[:2])
        given = super().get_changeform_initial_data(request)
        return {"organization": homes[0].pk, "owner": request.user.pk, **given} if len(homes) == 1 else dict(given)

    @admin.display(ordering="document_count")
    def documents(self, source: Any) -> int:
        return int(source.document_count)

    @admin.display(description="who may query it", ordering="visibility")
    def open_to(self, source: DataSource) -> str:
        return source.visibility

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        # Its chunks lie in the table of its model, and its people in its organisation.
        return ("organization", "embedding_model") if obj else ()

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

    def delete_model(self, request: HttpRequest, obj: DataSource) -> None:
        deletion.delete_source(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[DataSource]) -> None:
        for source in queryset:
            deletion.delete_source(source)

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        for grant in formset.save(commit=False):
            grant.granted_by = grant.granted_by or request.user
        super().save_formset(request, form, formset, change)


@admin.register(Document)
class DocumentAdmin(SourceContentAdmin):
    """Read only: documents come in by ingestion. Their text is shown to those who may query the source, not here."""

    list_display = ("title", "path", "source", "source_type", "lang", "chunk_count", "updated_at")
    list_filter = ("source", "source_type", "lang")
    search_fields = ("title", "path")
    list_select_related = ("source__organization",)
    fields = (
        "title", "path", "uri", "source", "source_type", "content_type", "lang", "tags", "date", "metadata",
        "content_hash", "chunk_count", "chunk_size", "chunk_overlap", "created_at", "updated_at",
    )  # fmt: skip
    readonly_fields = fields
    actions = ("parse_again",)

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.download)
        return [path("<path:object_id>/original/", view, name="rag_document_original"), *super().get_urls()]

    def download(self, request: HttpRequest, object_id: str) -> FileResponse:
        """The file as it was sent, for those who may query its source; never shown by a browser, only saved."""
        document = _with_original(request, object_id)
        if document is None or document.original is None:
            raise Http404
        name = "".join(each for each in document.original.name.rsplit("/", 1)[-1] if each.isprintable())[-150:]
        file = storage.opened(document.original)
        reply = FileResponse(
            file, as_attachment=True, filename=name or "original", content_type="application/octet-stream"
        )
        reply["X-Content-Type-Options"] = "nosniff"
        return reply

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        found = _with_original(request, object_id)
        address = reverse("admin:rag_document_original", args=[object_id]) if found else ""
        kwargs["extra_context"] = {**(kwargs.get("extra_context") or {}), "download_address": address}
        return super().change_view(request, object_id, *args, **kwargs)

    @admin.action(description="Parse again")
    def parse_again(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        parse_again(self, request, Document.objects.filter(pk__in=[document.pk for document in queryset]))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        return super().get_queryset(request).filter(deleted_at=None).defer("text")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    has_delete_permission = has_change_permission


def _with_original(request: HttpRequest, object_id: str) -> Document | None:
    """Whoever manages a source and may not query it does not read its files either."""
    allowed = Document.objects.live().visible_to(request.user, Action.QUERY).select_related("original").defer("text")
    key = as_uuid(object_id)
    return allowed.filter(pk=key).exclude(original=None).first() if key else None
