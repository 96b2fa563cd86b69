"""Deletes deliveries after the retention period, and the oldest of a webhook that has more than MAX_DELIVERIES."""

import datetime

from django.utils import timezone

from rag.models import Webhook, WebhookDelivery

# The maximum number of deliveries that are kept of one webhook.
MAX_DELIVERIES = 10_000
RETENTION_DAYS = 30
_BATCH_ROWS = 5_000


def delete_expired_deliveries() -> None:
    """Delete deliveries older than RETENTION_DAYS, and all but the newest MAX_DELIVERIES of a webhook."""
    cutoff = timezone.now() - datetime.timedelta(days=RETENTION_DAYS)
    expired = WebhookDelivery.objects.filter(created_at__lt=cutoff).order_by("created_at")
    while ids := list(expired.values_list("pk", flat=True)[:_BATCH_ROWS]):
        WebhookDelivery.objects.filter(pk__in=ids).delete()
    for webhook_id in Webhook.objects.values_list("pk", flat=True).iterator():
        newest_first = WebhookDelivery.objects.filter(webhook=webhook_id).order_by("-created_at", "-pk")
        while ids := list(newest_first.values_list("pk", flat=True)[MAX_DELIVERIES : MAX_DELIVERIES + _BATCH_ROWS]):
            WebhookDelivery.objects.filter(pk__in=ids).delete()
