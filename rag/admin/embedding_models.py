"""Embedding models: the whole platform's, so superusers keep them."""

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from rag.models import EmbeddingModel


@admin.register(EmbeddingModel)
class EmbeddingModelAdmin(admin.ModelAdmin):
    list_display = ("name", "provider", "dimensions", "base_url", "api_key_variable")
    list_filter = ("provider", "dimensions")
    search_fields = ("name",)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name in ("query_prefix", "document_prefix"):
            kwargs["strip"] = False  # "query: " ends with a space that the model was trained with
        if db_field.name in ("base_url", "fallback_base_url"):
            kwargs["assume_scheme"] = "https"
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        # Vectors that exist were made by this model: another one is another row.
        return ("name", "provider", "dimensions") if obj else ()
