"""Sends what is due to webhooks: signed, several at once, one after the other to each webhook.

A delivery is claimed with a new attempt before it is sent, so that a worker that is lost costs one attempt. The
receiver may get a delivery twice, with the same `webhook-id`.
"""

import datetime
import json
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import structlog
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Greatest
from django.utils import timezone

import ragsite
from rag.models import Webhook, WebhookDelivery
from rag.providers.http import webhook_client
from ragsite.postgres import credential_fields, encryption
from ragsite.postgres.locks import session_lock

from . import quota_events, signing

logger = structlog.get_logger(__name__)

State = WebhookDelivery.State
# The pauses after each failed attempt, in seconds: about 28 hours in all (Standard Webhooks, "Retries").
RETRY_PAUSES = (5, 300, 1_800, 7_200, 18_000, 36_000, 36_000)
TIMEOUT_SECONDS = 10.0
_MAX_THREADS = 8
# How long one task takes new deliveries. The next task continues.
_MAX_TASK_SECONDS = 40.0
# A claimed delivery belongs to this worker for this long.
_CLAIM_DURATION = datetime.timedelta(seconds=60)
_GONE = 410
NO_SUCCESS = "Every attempt failed for more than a day, so the webhook was switched off."
ADDRESS_GONE = "The address answered 410 Gone, so the webhook was switched off."
_SWITCHED_OFF = "The webhook was switched off."


@dataclass(frozen=True, slots=True)
class _Outcome:
    status: int | None
    error: str

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def deliver_due() -> None:
    """Record quotas that are nearly reached, and send what is due. One process does it at a time."""
    with session_lock("deliver webhooks") as is_acquired:
        if is_acquired:
            quota_events.record_nearly_reached()
            _deliver_until(time.monotonic() + _MAX_TASK_SECONDS)


def _deliver_until(deadline: float) -> None:
    in_flight: dict[Future[_Outcome], WebhookDelivery] = {}
    with ThreadPoolExecutor(_MAX_THREADS, thread_name_prefix="webhook") as threads:
        while True:
            if time.monotonic() < deadline:
                for delivery in claim_due_deliveries(_MAX_THREADS - len(in_flight), busy=list(in_flight.values())):
                    in_flight[threads.submit(_send, delivery)] = delivery
            if not in_flight:
                return
            for future in wait(in_flight, return_when=FIRST_COMPLETED).done:
                _record(in_flight.pop(future), future.result())


@transaction.atomic
def claim_due_deliveries(places: int, *, busy: Sequence[WebhookDelivery]) -> list[WebhookDelivery]:
    """Claim the next delivery of each of up to `places` webhooks, the one that has waited longest first.

    An organisation may hold at most as many places as remain free, so that slow addresses of one organisation do not
    hold up the others.

    Args:
        places: The number of free threads.
        busy: The deliveries that are being sent.

    Returns:
        The deliveries, at most one of each webhook.
    """
    now = timezone.now()
    due = WebhookDelivery.objects.filter(
        state=State.PENDING, due_at__lte=now, webhook__is_active=True, webhook__organization__is_active=True
    )
    first_due = (
        due.exclude(webhook__in=[delivery.webhook_id for delivery in busy])
        .order_by("webhook_id", "due_at", "created_at", "pk")
        .distinct("webhook_id")
    )
    places_in_use = Counter(delivery.webhook.organization_id for delivery in busy)
    ids: list[uuid.UUID] = []
    for _, pk, organization in sorted(first_due.values_list("due_at", "pk", "webhook__organization_id")):
        if places_in_use[organization] < places - len(ids):
            places_in_use[organization] += 1
            ids.append(pk)
    rows = WebhookDelivery.objects.filter(pk__in=ids).select_related("webhook")
    claimed = list(rows.select_for_update(of=("self",), skip_locked=True))
    for delivery in claimed:
        delivery.attempts += 1
        delivery.due_at = now + _CLAIM_DURATION
        delivery.save(update_fields=["attempts", "due_at"])
    credential_fields.load([delivery.webhook for delivery in claimed], "secret", "old_secret")
    return claimed


def _send(delivery: WebhookDelivery) -> _Outcome:
    """Send a delivery, without the database: this runs in a thread."""
    webhook, now = delivery.webhook, int(time.time())
    body = json.dumps(delivery.payload, ensure_ascii=False, separators=(",", ":")).encode()
    stored = [webhook.secret]
    if webhook.old_secret and webhook.old_secret_until and webhook.old_secret_until.timestamp() > now:
        stored.append(webhook.old_secret)
    message_id = f"msg_{delivery.pk.hex}"
    try:
        signatures = [
            signing.sign(
                encryption.decrypt(secret, encryption.Purpose.WEBHOOK), message_id=message_id, timestamp=now, body=body
            )
            for secret in stored
        ]
    except encryption.UnreadableSecret:
        return _Outcome(None, "The secret was encrypted with another SECRET_KEY. Rotate it.")
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"ragsite/{ragsite.__version__}",
        "webhook-id": message_id,
        "webhook-timestamp": str(now),
        "webhook-signature": " ".join(signatures),
    }
    try:
        status = webhook_client.post(webhook.url, body=body, headers=headers, timeout_seconds=TIMEOUT_SECONDS)
    except webhook_client.PostFailed as error:
        return _Outcome(None, str(error))
    return _Outcome(status, "" if 200 <= status < 300 else f"The address answered {status}.")


@transaction.atomic
def _record(delivery: WebhookDelivery, outcome: _Outcome) -> None:
    """Store the outcome of an attempt, and what follows from it for the webhook and its other deliveries."""
    # The webhook first, as when it is deleted: in another order, each could wait for the other.
    Webhook.objects.select_for_update(no_key=True).filter(pk=delivery.webhook_id).values_list("pk").first()
    _store_outcome(delivery, outcome)
    if outcome.status == _GONE:
        _switch_off(delivery.webhook, ADDRESS_GONE)
    elif delivery.state == State.FAILED:
        never_succeeded = Q(last_success_at=None) | Q(last_success_at__lt=delivery.created_at)
        if Webhook.objects.filter(never_succeeded, pk=delivery.webhook_id).exists():
            _switch_off(delivery.webhook, NO_SUCCESS)
    elif delivery.due_at:  # the others wait until the same time, so that one address does not get an attempt for each
        waiting = WebhookDelivery.objects.filter(webhook=delivery.webhook_id, state=State.PENDING)
        waiting.exclude(pk=delivery.pk).update(due_at=Greatest(F("due_at"), delivery.due_at))
    logger.info(
        "webhook_sent",
        delivery=str(delivery.pk),
        webhook=str(delivery.webhook_id),
        webhook_event=delivery.event,
        status=outcome.status,
        state=delivery.state,
    )


def _store_outcome(delivery: WebhookDelivery, outcome: _Outcome) -> None:
    """Mark the delivery as delivered or failed, or set the time of its next attempt."""
    now = timezone.now()
    delivery.response_status, delivery.error = outcome.status, outcome.error[:300]
    if outcome.is_success:
        delivery.state, delivery.due_at, delivery.finished_at = State.DELIVERED, None, now
        Webhook.objects.filter(pk=delivery.webhook_id).update(last_success_at=now)
    elif outcome.status == _GONE or delivery.attempts > len(RETRY_PAUSES):
        delivery.state, delivery.due_at, delivery.finished_at = State.FAILED, None, now
    else:
        delivery.due_at = now + datetime.timedelta(seconds=RETRY_PAUSES[delivery.attempts - 1])
    fields = ["response_status", "error", "state", "due_at", "finished_at"]
    # An update, not save(): a delivery that was deleted with its webhook in the meantime is not written again.
    stored = WebhookDelivery.objects.filter(pk=delivery.pk)
    stored.update(**{name: getattr(delivery, name) for name in fields})


def _switch_off(webhook: Webhook, reason: str) -> None:
    """Switch the webhook off until a person switches it on. Its waiting deliveries fail."""
    Webhook.objects.filter(pk=webhook.pk, is_active=True).update(is_active=False, disabled_reason=reason)
    waiting = WebhookDelivery.objects.filter(webhook=webhook.pk, state=State.PENDING)
    waiting.update(state=State.FAILED, due_at=None, finished_at=timezone.now(), error=_SWITCHED_OFF)
    logger.warning("webhook_switched_off", webhook=str(webhook.pk), reason=reason)
