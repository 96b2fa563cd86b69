"""Embedding models: the whole platform's, so superusers keep them."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from rag.models import EmbeddingModel
from rag.providers.http.outbound import ForbiddenAddress, require_allowed


class EmbeddingModelForm(forms.ModelForm):
    """Says at once what connecting would refuse (rag.providers.http.outbound)."""

    def clean_base_url(self) -> str:
        return _allowed(self.cleaned_data["base_url"])

    def clean_fallback_base_url(self) -> str:
        return _allowed(self.cleaned_data["fallback_base_url"])


def _allowed(url: str) -> str:
    try:
        require_allowed(url)
    except ForbiddenAddress as error:
        raise forms.ValidationError(str(error)) from None
    return url


@admin.register(EmbeddingModel)
class EmbeddingModelAdmin(admin.ModelAdmin):
    form = EmbeddingModelForm
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
