"""The fields of webhooks and their deliveries (docs/user/webhooks.md)."""

import datetime
from typing import Annotated, TypedDict

from rest_framework import serializers

from rag.contracts.common import fields
from rag.models import Webhook, WebhookDelivery, WebhookEvent
from rag.models.webhooks import MAX_URL_CHARACTERS
from rag.services.webhooks.endpoints import WebhookSettings
from ragsite.http.openapi.field_types import Count, Id
from ragsite.http.strict_fields import ValidatedFields


def _events(*, required: bool) -> fields.BoundedList:
    child = fields.Choice("events", choices=WebhookEvent.values)
    return fields.BoundedList(
        "events", child=child, min_entries=1, max_entries=len(WebhookEvent.values), required=required
    )


class WebhookIn(serializers.Serializer[None]):
    """A new webhook."""

    url = fields.Text("url", max_length=MAX_URL_CHARACTERS)
    events = _events(required=True)
    description = fields.Text("description", max_length=200, required=False, allow_blank=True)
    isActive = fields.Boolean("isActive", default=True)


class WebhookChangeIn(serializers.Serializer[None]):
    """The fields of a change. A field that is not sent keeps its value."""

    url = fields.Text("url", max_length=MAX_URL_CHARACTERS, required=False)
    events = _events(required=False)
    description = fields.Text("description", max_length=200, required=False, allow_blank=True)
    isActive = fields.Boolean("isActive", required=False)


class DeliveryListIn(serializers.Serializer[None]):
    """The query parameters of the list of deliveries."""

    status = fields.Choice("status", choices=WebhookDelivery.State.values, required=False)


def build_settings(values: ValidatedFields) -> WebhookSettings:
    return WebhookSettings(
        url=values.get("url"),
        events=list(dict.fromkeys(values["events"])) if "events" in values else None,
        description=values.get("description"),
        is_active=values.get("isActive"),
    )


class WebhookOut(TypedDict):
    """`disabledReason`: why ragsite switched it off, else empty. `skipped`: events that were not stored, because too
    many deliveries were waiting."""

    id: Id
    organization: str
    url: str
    events: list[Annotated[str, {"enum": WebhookEvent.values}]]
    description: str
    isActive: bool
    disabledReason: str
    skipped: Count
    lastSuccessAt: datetime.datetime | None
    createdAt: datetime.datetime
    updatedAt: datetime.datetime


class NewWebhookOut(WebhookOut):
    """A webhook with its secret, which is not shown again."""

    secret: str


class WebhookListOut(TypedDict):
    webhooks: list[WebhookOut]
    page: Count
    pageSize: Count
    total: Count


class DeliveryOut(TypedDict):
    """`payload`: the body. `nextAttemptAt`: null once it is delivered or has failed."""

    id: Id
    event: str
    status: Annotated[str, {"enum": WebhookDelivery.State.values}]
    attempts: Count
    responseStatus: Annotated[int | None, {"minimum": 100}]
    error: str
    payload: dict[str, object]
    createdAt: datetime.datetime
    nextAttemptAt: datetime.datetime | None
    finishedAt: datetime.datetime | None


class DeliveryListOut(TypedDict):
    deliveries: list[DeliveryOut]
    page: Count
    pageSize: Count
    total: Count


def webhook_out(webhook: Webhook) -> WebhookOut:
    return {
        "id": str(webhook.pk),
        "organization": webhook.organization.slug,
        "url": webhook.url,
        "events": list(webhook.events),
        "description": webhook.description,
        "isActive": webhook.is_active,
        "disabledReason": webhook.disabled_reason,
        "skipped": webhook.skipped,
        "lastSuccessAt": webhook.last_success_at,
        "createdAt": webhook.created_at,
        "updatedAt": webhook.updated_at,
    }


def new_webhook_out(webhook: Webhook, secret: str) -> NewWebhookOut:
    return {**webhook_out(webhook), "secret": secret}


def delivery_out(delivery: WebhookDelivery) -> DeliveryOut:
    return {
        "id": str(delivery.pk),
        "event": delivery.event,
        "status": delivery.state,
        "attempts": delivery.attempts,
        "responseStatus": delivery.response_status,
        "error": delivery.error,
        "payload": delivery.payload,
        "createdAt": delivery.created_at,
        "nextAttemptAt": delivery.due_at,
        "finishedAt": delivery.finished_at,
    }
