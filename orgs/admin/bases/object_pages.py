"""The pages "Delete" and "History" of an object: its title there, and the way to the audit trail."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext

from accounts.audit import tracking
from accounts.audit.events import AuditEvent


class ObjectPagesMixin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Titles an object's pages like its form, and links its history to the audit trail.

    Django lists only what was saved with the forms of the admin. The audit trail also records what the API, single
    sign-on and commands change.
    """

    def object_title(self, request: HttpRequest, obj: Model) -> str:
        """Return what the pages of this object are called."""
        return str(obj)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        return super().get_object(request, object_id, from_field or None)  # Django fails for `?_to_field=`

    def render_delete_form(self, request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
        title = self.object_title(request, context["object"])
        return super().render_delete_form(request, {**context, "object_title": title})

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        page = super().history_view(request, object_id, extra_context)
        if isinstance(page, TemplateResponse) and page.context_data:
            obj = page.context_data["object"]
            title = self.object_title(request, obj)
            is_recorded = tracking.is_tracked(self.model)
            page.context_data |= {"title": gettext("History"), "subtitle": title, "object_title": title}
            page.context_data |= {
                "is_recorded": is_recorded,
                "trail_url": is_recorded and self._trail_url(request, obj),
            }
        return page

    def _trail_url(self, request: HttpRequest, obj: Model) -> str:
        """Return the address of the object's events; empty for those who may not read the audit trail."""
        if not self.admin_site.get_model_admin(AuditEvent).has_view_permission(request):
            return ""
        return f"{reverse('admin:accounts_auditevent_changelist')}?{urlencode({'q': obj.pk})}"
