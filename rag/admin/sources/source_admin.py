"""The admin of data sources."""

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from django.contrib import admin
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.defaultfilters import filesizeformat
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from orgs.access.caller import get_caller
from orgs.admin.bases.plain_change_list import PlainChangeList
from orgs.models import Organization
from rag.admin.base import CountedDeletionMixin, SourceContentAdmin, find_source, managed_organizations
from rag.admin.reparsing import reparse
from rag.errors import UnknownSource
from rag.models import Action, DataSource, Document
from rag.services.access.audience import describe_audience, summarize_audiences
from rag.services.operations import row_counts
from rag.services.sources import deletion, documents

from . import quality_page, reembedding_page, search_trace_page, unanswered_page
from .access import access_page, grantees, matrix_change_page, matrix_page
from .access.grant_forms import SUGGESTIONS_ID, GrantInline
from .source_forms import SourceForm
from .upload_page import UploadPageMixin, upload_context


class ListedSource(Protocol):
    """A data source as the list of data sources reads it."""

    audience: object
    document_count: int


class SourceChangeList(PlainChangeList):
    """Counts the documents of the sources that are shown, and of no others, and says who can query them."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        shown = list(self.result_list)
        user = get_caller(request).authenticated_user
        counts = row_counts.count_rows(
            user.pk, Document.objects.live().filter(source__in=[source.pk for source in shown]), by="source"
        )
        summaries = summarize_audiences(shown)
        for source in shown:
            source.audience = summaries[source.pk]
            source.document_count = counts.get(str(source.pk), 0)
        self.result_list = shown


@admin.register(DataSource)
class DataSourceAdmin(UploadPageMixin, CountedDeletionMixin, SourceContentAdmin):
    form = SourceForm
    inlines = (GrantInline,)
    fieldsets = (
        (None, {"fields": ("organization", "name", "description", "visibility", "owner", "storage_totals")}),
        (
            _("More options"),
            {"classes": ("collapse",), "fields": ("slug", "source_type", "embedding_model", "has_ocr")},
        ),
    )
    empty_text = _(
        "A data source is a collection of documents with one rule that says who may query it. Add the first "
        "one, then upload documents on its page."
    )
    list_display = ("name", "organization", "visibility_display", "owner", "embedding_model", "documents")
    list_filter = ("organization", "visibility", "source_type", "embedding_model")
    search_fields = ("name", "slug", "description")
    list_select_related = ("organization", "owner", "embedding_model")
    prepopulated_fields = {"slug": ("name",)}
    actions = ("reparse",)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        may_ingest = find_source(request, object_id, Action.INGEST) is not None
        source = find_source(request, object_id, Action.MANAGE)
        extra = {
            "audience": describe_audience(source) if source else None,
            "is_queryable": find_source(request, object_id, Action.QUERY) is not None,
            **(_suggestions(source.organization) if source else {}),
            **(upload_context(source) if source and may_ingest else {}),
        }
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), **extra})

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        organizations = list(managed_organizations(request)[:2])
        if len(organizations) == 1:
            extra_context = {**(extra_context or {}), **_suggestions(organizations[0])}
        return super().add_view(request, form_url, extra_context)

    def response_post_save_add(self, request: HttpRequest, obj: DataSource) -> HttpResponseRedirect:
        """Open the page of the new data source: its documents are uploaded there."""
        return HttpResponseRedirect(reverse("admin:rag_datasource_change", args=[obj.pk]))

    @admin.action(description=_("Parse all documents again"))
    def reparse(self, request: HttpRequest, queryset: QuerySet[DataSource]) -> None:
        reparse(self, request, Document.objects.filter(source__in=[source.pk for source in queryset]))

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[SourceChangeList]:
        return SourceChangeList

    def get_urls(self) -> list[URLPattern]:
        """Add the pages of a data source that are not Django's own."""
        pages = (
            ("reembed", "reembed", reembedding_page.show_reembedding),
            ("quality", "quality", quality_page.show_quality),
            ("unanswered", "unanswered", unanswered_page.show_unanswered),
            ("access", "access", access_page.show_access),
            ("search-trace", "search_trace", search_trace_page.show_search_trace),
            ("golden-questions.csv", "golden_export", quality_page.export_golden_questions),
        )
        view = self.admin_site.admin_view
        urls = [
            path(f"<uuid:source_id>/{end}/", view(page), name=f"rag_datasource_{name}") for end, name, page in pages
        ]
        urls.append(path("matrix/", view(matrix_page.show_matrix), name="rag_datasource_matrix"))
        urls.append(path("matrix/change/", view(matrix_change_page.change_access), name="rag_datasource_matrix_change"))
        return [*urls, *super().get_urls()]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        initial = dict(super().get_changeform_initial_data(request))
        organizations = list(managed_organizations(request)[:2])
        if len(organizations) != 1:
            return initial
        return {"organization": organizations[0].pk, "owner": request.user.pk, **initial}

    @admin.display(description=_("documents"))
    def documents(self, source: ListedSource) -> int:
        return source.document_count

    @admin.display(description=_("stored"))
    def storage_totals(self, source: DataSource) -> str:
        count, chunks, size = documents.get_storage_totals(source)
        texts = (
            ngettext("{number} document", "{number} documents", count).format(number=intcomma(count)),
            ngettext("{number} chunk", "{number} chunks", chunks).format(number=intcomma(chunks)),
        )
        return ", ".join((*texts, filesizeformat(size)))

    @admin.display(description=_("who may query it"), ordering="visibility")
    def visibility_display(self, source: ListedSource) -> str:
        return str(source.audience)

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Return the fields; nothing is stored before the source exists."""
        (title, main), *more = super().get_fieldsets(request, obj)
        names = [name for name in main["fields"] if obj or name != "storage_totals"]
        return [(title, {**main, "fields": names}), *more]

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        # The page Re-embed changes the model; grants and documents belong to the organisation.
        return ("organization", "embedding_model", "storage_totals") if obj else ()

    def count_deletions(self, objects: Sequence[DataSource]) -> Mapping[str, int]:
        sources = DataSource.objects.filter(pk__in=[source.pk for source in objects])
        return {
            "data sources": sources.count(),
            "documents": Document.objects.live().filter(source__in=sources).count(),
        }

    def save_model(self, request: HttpRequest, obj: DataSource, form: "ModelForm[Model]", change: bool) -> None:
        """Save only the changed fields: a re-embedding may have switched the model since the form was loaded."""
        if change:
            obj.save(update_fields=[*form.changed_data, "updated_at"])
        else:
            super().save_model(request, obj, form, change)

    def delete_model(self, request: HttpRequest, obj: DataSource) -> None:
        with contextlib.suppress(UnknownSource):  # already deleted
            deletion.delete_source(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[DataSource]) -> None:
        for source in queryset:
            self.delete_model(request, source)

    def get_inline_formsets(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Return the grants with a text of their own for another row: Django's has a capital in the middle."""
        inlines = super().get_inline_formsets(*args, **kwargs)
        for inline in inlines:
            data = json.loads(inline.inline_formset_data())
            data["options"]["addText"] = gettext("Add a person, role or team")
            inline.inline_formset_data = json.dumps(data)
        return inlines

    def save_formset(self, request: HttpRequest, form: "ModelForm[Model]", formset: Any, change: bool) -> None:
        for grant in formset.save(commit=False):  # new and changed grants
            grant.granted_by, grant.granted_at = request.user, timezone.now()
        super().save_formset(request, form, formset, change)


def _suggestions(organization: Organization) -> dict[str, object]:
    """Return what the page needs to suggest people, roles and teams."""
    return {"suggestions": list(grantees.suggestions(organization)), "suggestions_id": SUGGESTIONS_ID}
