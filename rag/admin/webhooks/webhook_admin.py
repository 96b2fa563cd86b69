"""Webhooks in the admin, for those who manage all data sources of the organisation."""

import contextlib
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from orgs.access.caller import get_caller
from orgs.access.permissions import Permission
from orgs.admin.bases.request_permissions import holds_permission
from orgs.admin.bases.scoped_admin import ScopedAdmin
from orgs.models import Organization
from rag.errors import InvalidRequest, TooManyLongRequests, UnknownWebhook
from rag.models import Webhook, WebhookEvent
from rag.models.webhooks import managed_organizations
from rag.services.webhooks import endpoints, signing
from ragsite.postgres import encryption


class WebhookForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Offers the events as boxes to tick, and refuses addresses that would not be connected to."""

    events = forms.MultipleChoiceField(
        label=_("Events"), choices=WebhookEvent.choices, widget=forms.CheckboxSelectMultiple
    )

    def clean_url(self) -> str:
        try:
            endpoints.check_url(self.cleaned_data["url"])
        except (InvalidRequest, TooManyLongRequests) as error:
            raise forms.ValidationError(gettext(error.message)) from None
        return str(self.cleaned_data["url"])

    def clean(self) -> dict[str, object]:
        values = super().clean() or self.cleaned_data
        if self.instance._state.adding and (organization := values.get("organization")):
            try:
                endpoints.check_number_of_webhooks(organization)
            except InvalidRequest as error:
                self.add_error(None, error.message)
        return values


@admin.register(Webhook)
class WebhookAdmin(ScopedAdmin):
    """Creates and changes webhooks, and shows a new secret once."""

    form = WebhookForm
    empty_text = _(
        "A webhook tells another program when something has happened: a job has finished, a document has "
        "failed, a quota is nearly reached."
    )
    list_display = ("name", "organization", "event_names", "is_active", "last_success_at", "deliveries_link")
    list_filter = ("organization", "is_active")
    list_select_related = ("organization",)
    search_fields = ("url", "description")
    fieldsets = (
        (None, {"fields": ("organization", "url", "description", "events", "is_active")}),
        (_("State"), {"fields": ("last_success_at", "deliveries_link", "disabled_reason", "skipped")}),
    )
    actions = ("rotate_secret", "send_test")

    def visible_rows(self, request: HttpRequest) -> QuerySet[Model]:
        rows: QuerySet[Model] = Webhook.objects.visible_to(get_caller(request))
        return rows

    def is_allowed(self, request: HttpRequest) -> bool:
        return holds_permission(request, Permission.SOURCES_MANAGE)

    def selectable_rows(self, request: HttpRequest, model: type[Model]) -> QuerySet[Model] | None:
        organizations: QuerySet[Model] = managed_organizations(get_caller(request))
        return organizations if model is Organization else None

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        return ("last_success_at", "deliveries_link", "disabled_reason", "skipped", "organization") if obj else ()

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return self.fieldsets if obj else self.fieldsets[:1]

    def save_model(self, request: HttpRequest, obj: Webhook, form: "ModelForm[Model]", change: bool) -> None:
        if obj.is_active:
            obj.disabled_reason = ""
        if change:
            super().save_model(request, obj, form, change)
            return
        secret = signing.generate_secret()
        obj.secret = encryption.encrypt(secret, encryption.Purpose.WEBHOOK)
        super().save_model(request, obj, form, change)
        self._show_secret(request, obj, secret)

    def delete_model(self, request: HttpRequest, obj: Webhook) -> None:
        with contextlib.suppress(UnknownWebhook):
            endpoints.delete_webhook(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Webhook]) -> None:
        for webhook in queryset.order_by("pk"):
            self.delete_model(request, webhook)

    @admin.display(description=_("webhook"))
    def name(self, webhook: Webhook) -> str:
        return str(webhook)

    @admin.display(description=_("events"))
    def event_names(self, webhook: Webhook) -> str:
        return ", ".join(webhook.events)

    @admin.display(description=_("deliveries"))
    def deliveries_link(self, webhook: Webhook) -> SafeString:
        url = reverse("admin:rag_webhookdelivery_changelist")
        link = '<a href="{}?webhook__id__exact={}" aria-label="{}: {}">{}</a>'
        return format_html(link, url, webhook.pk, gettext("Show"), webhook, gettext("Show"))

    @admin.action(description=_("Replace the secrets of the selected webhooks"), permissions=["change"])
    def rotate_secret(self, request: HttpRequest, webhooks: QuerySet[Webhook]) -> None:
        for webhook in webhooks:
            self._show_secret(request, webhook, endpoints.rotate_secret(webhook))

    @admin.action(description=_("Send a test event"), permissions=["change"])
    def send_test(self, request: HttpRequest, webhooks: QuerySet[Webhook]) -> None:
        try:
            for webhook in webhooks:
                endpoints.send_test(webhook)
        except InvalidRequest as error:
            messages.error(request, error.message)
            return
        messages.success(request, gettext("The test events are being sent. The deliveries show the outcome."))

    def _show_secret(self, request: HttpRequest, webhook: Webhook, secret: str) -> None:
        text = gettext("The secret of {} is {}. It is not shown again.")
        messages.warning(request, format_html(text, webhook, secret))
