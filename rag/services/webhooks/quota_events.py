"""Stores the event of a quota that is nearly reached: once, and again only after the usage was lower."""

from collections.abc import Iterator
from typing import TypedDict

from django.db import transaction
from django.utils import timezone

from rag.models import Usage, Webhook, WebhookEvent

from . import events

# From the first share on, a quota is "nearly reached"; below the second share it no longer is.
_NEARLY_REACHED, _NO_LONGER_REACHED = 0.9, 0.85


class Quota(TypedDict):
    """A limit of an organisation, as the event has it."""

    resource: str
    used: int
    limit: int


def record_nearly_reached() -> None:
    """Record the event for the webhooks that subscribe to it. Called regularly; cheap if there are none."""
    webhooks = Webhook.objects.filter(is_active=True, events__contains=[WebhookEvent.QUOTA_NEARLY_REACHED])
    limited = webhooks.exclude(organization__max_chunks=None, organization__max_bytes=None)
    for webhook in limited.select_related("organization").iterator():
        quotas = list(_read_quotas(webhook))
        nearly_reached = [quota for quota in quotas if quota["used"] >= _NEARLY_REACHED * quota["limit"]]
        if nearly_reached and webhook.quota_notified_at is None:
            _record(webhook, nearly_reached)
        elif webhook.quota_notified_at and all(quota["used"] < _NO_LONGER_REACHED * quota["limit"] for quota in quotas):
            Webhook.objects.filter(pk=webhook.pk).update(quota_notified_at=None)


@transaction.atomic
def _record(webhook: Webhook, quotas: list[Quota]) -> None:
    unnotified = Webhook.objects.filter(pk=webhook.pk, quota_notified_at=None)
    if unnotified.update(quota_notified_at=timezone.now()):
        data = {"organization": webhook.organization.slug, "quotas": quotas}
        events.record_for(webhook, WebhookEvent.QUOTA_NEARLY_REACHED, data)


def _read_quotas(webhook: Webhook) -> Iterator[Quota]:
    """Yield the limits of the webhook's organisation, as the event has them."""
    usage = Usage.objects.filter(pk=webhook.organization_id).first() or Usage()
    organization = webhook.organization
    limits = (("chunks", organization.max_chunks, usage.chunks), ("bytes", organization.max_bytes, usage.bytes))
    for name, limit, used in limits:
        if limit is not None:
            yield {"resource": name, "used": used, "limit": limit}
