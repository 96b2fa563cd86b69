"""The admin of embedding models, for superusers: all organisations share them."""

from django import forms
from django.contrib import admin
from django.db.models import Field as DbField
from django.db.models import Model
from django.forms import Field as FormField
from django.http import HttpRequest

from accounts.superuser_admin import SuperuserAdmin
from rag.models import EmbeddingModel
from ragsite.http.outbound_connections import ForbiddenAddress, check_allowed


class EmbeddingModelForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Rejects addresses that the HTTP client would refuse to connect to (ragsite.http.outbound_connections)."""

    def clean_base_url(self) -> str:
        return _validate_url(self.cleaned_data["base_url"])

    def clean_fallback_base_url(self) -> str:
        return _validate_url(self.cleaned_data["fallback_base_url"])


def _validate_url(url: str) -> str:
    try:
        check_allowed(url)
    except ForbiddenAddress as error:
        raise forms.ValidationError(str(error)) from None
    return url


@admin.register(EmbeddingModel)
class EmbeddingModelAdmin(SuperuserAdmin):
    form = EmbeddingModelForm
    list_display = ("name", "provider", "dimensions", "base_url", "api_key_variable")
    list_filter = ("provider", "dimensions")
    search_fields = ("name",)

    def formfield_for_dbfield(
        self, db_field: "DbField[object, object]", request: HttpRequest, **kwargs: object
    ) -> FormField | None:
        if db_field.name in ("query_prefix", "document_prefix"):
            kwargs["strip"] = False  # keep the trailing space of prefixes such as "query: "
        if db_field.name in ("base_url", "fallback_base_url"):
            kwargs["assume_scheme"] = "https"
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        # Stored vectors belong to this model and its dimensions; another model is another row.
        return ("name", "provider", "dimensions") if obj else ()
