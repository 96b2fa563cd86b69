"""What was and will be sent to webhooks."""

import json

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from orgs.access.caller import get_caller
from orgs.access.permissions import Permission
from orgs.admin.bases.request_permissions import holds_permission
from orgs.admin.bases.scoped_admin import ScopedAdmin
from rag.admin.base import ReadOnlyMixin
from rag.models import Webhook, WebhookDelivery
from rag.services.webhooks import endpoints


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(ReadOnlyMixin, ScopedAdmin):
    """Lists deliveries with their outcome, and sends failed ones again."""

    empty_text = _("Nothing was delivered yet. Each message to a webhook is listed here, with its outcome.")
    list_display = ("created_at", "webhook", "event", "state", "attempts", "response_status", "error", "due_at")
    list_filter = ("state", "event", "webhook")
    list_select_related = ("webhook",)
    list_per_page = 50
    show_full_result_count = False
    fields = (
        *("webhook", "event", "state", "attempts", "response_status", "error"),
        *("created_at", "due_at", "finished_at", "body"),
    )
    actions = ("send_again",)

    def visible_rows(self, request: HttpRequest) -> QuerySet[Model]:
        rows: QuerySet[Model] = WebhookDelivery.objects.visible_to(get_caller(request))
        return rows

    def is_allowed(self, request: HttpRequest) -> bool:
        return holds_permission(request, Permission.SOURCES_MANAGE)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def selectable_rows(self, request: HttpRequest, model: type[Model]) -> QuerySet[Model] | None:
        rows: QuerySet[Model] = Webhook.objects.visible_to(get_caller(request))
        return rows if model is Webhook else None

    @admin.display(description=_("body"))
    def body(self, delivery: WebhookDelivery) -> SafeString:
        return format_html("<pre>{}</pre>", json.dumps(delivery.payload, indent=2, ensure_ascii=False))

    @admin.action(description=_("Send the selected failed deliveries again"), permissions=["view"])
    def send_again(self, request: HttpRequest, deliveries: QuerySet[WebhookDelivery]) -> None:
        number = endpoints.retry_deliveries(deliveries)
        if number:
            text = ngettext("{number} delivery is sent again.", "{number} deliveries are sent again.", number)
            messages.success(request, text.format(number=number))
        else:
            messages.info(request, gettext("None of these deliveries has failed, so none is sent again."))
