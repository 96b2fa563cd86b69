"""Embedding models: the whole platform's, so superusers keep them."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from rag.models import EmbeddingModel


@admin.register(EmbeddingModel)
class EmbeddingModelAdmin(admin.ModelAdmin):
    list_display = ("name", "provider", "dimensions", "base_url", "api_key_variable")
    list_filter = ("provider", "dimensions")
    search_fields = ("name",)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        # Vectors that exist were made by this model: another one is another row.
        return ("name", "provider", "dimensions") if obj else ()
