"""The base of admin pages that only superusers open."""

from django.contrib import admin
from django.contrib.admin.views.main import ERROR_FLAG
from django.core.exceptions import ValidationError
from django.db import DataError
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.text import capfirst


class SuperuserAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Admits superusers. Django's model permissions have no effect, and are not read for each page."""

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        """Title the list like all others; Django's title is a sentence about what to do in it."""
        title = {"title": capfirst(self.opts.verbose_name_plural)}
        try:
            return super().changelist_view(request, {**title, **(extra_context or {})})
        except (DataError, ValidationError, ValueError, OverflowError):  # unknown filters, or rows without an id
            if set(request.GET) <= {ERROR_FLAG} and not request.POST:
                raise  # nothing that was sent is the cause, and a redirect would come back here
            return HttpResponseRedirect(f"{request.path}?{ERROR_FLAG}=1")

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Model | None:
        # Django fails for `?_to_field=`.
        row: Model | None = super().get_object(request, object_id, from_field or None)
        return row

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active and request.user.is_superuser)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.has_module_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_module_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.has_module_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return self.has_module_permission(request)
