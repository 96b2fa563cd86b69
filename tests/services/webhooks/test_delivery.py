"""Sending webhooks: signatures, retries, private addresses, what a lost worker costs."""

import datetime
import socket
from collections import Counter
from typing import Any

import httpcore2
import pytest
from django.utils import timezone

from rag.models import Webhook, WebhookDelivery
from rag.providers.http import webhook_client
from rag.services.webhooks import delete_old_deliveries, delivery, endpoints, events
from ragsite.http import outbound_connections
from tests.services.webhooks.conftest import Create
from tests.support.factories import World
from tests.support.servers.webhook_receiver import WebhookReceiver, valid_signatures

State = WebhookDelivery.State


def make_due() -> None:
    """End the pauses of all waiting deliveries."""
    WebhookDelivery.objects.filter(state=State.PENDING).update(due_at=timezone.now())


def fail_until_the_last_attempt(webhook: Webhook) -> WebhookDelivery:
    row = endpoints.send_test(webhook)
    WebhookDelivery.objects.filter(pk=row.pk).update(attempts=len(delivery.RETRY_PAUSES))
    delivery.deliver_due()
    row.refresh_from_db()
    return row


def test_a_delivery_is_signed(create: Create, receiver: WebhookReceiver) -> None:
    webhook, secret = create()
    row = endpoints.send_test(webhook)
    delivery.deliver_due()
    (message,) = receiver.received
    assert (message["type"], message["data"]) == ("webhook.test", {"webhookId": str(webhook.pk)})
    assert abs(int(message["headers"]["webhook-timestamp"]) - timezone.now().timestamp()) < 300
    assert valid_signatures(message, secret) == 1
    assert message["headers"]["webhook-id"] == f"msg_{row.pk.hex}"
    row.refresh_from_db()
    webhook.refresh_from_db()
    assert (row.state, row.response_status, row.attempts, row.due_at) == (State.DELIVERED, 204, 1, None)
    assert webhook.last_success_at == row.finished_at
    delivery.deliver_due()
    assert len(receiver.received) == 1


def test_after_a_rotation_both_secrets_sign_for_a_day(create: Create, receiver: WebhookReceiver) -> None:
    webhook, old_secret = create()
    new_secret = endpoints.rotate_secret(webhook)
    endpoints.send_test(webhook)
    delivery.deliver_due()
    Webhook.objects.update(old_secret_until=timezone.now() - datetime.timedelta(seconds=1))
    endpoints.send_test(webhook)
    delivery.deliver_due()
    assert [valid_signatures(message, new_secret) for message in receiver.received] == [1, 1]
    assert [valid_signatures(message, old_secret) for message in receiver.received] == [1, 0]


def test_secrets_are_encrypted_in_the_database(create: Create, settings: Any) -> None:
    webhook, secret = create()
    stored = Webhook.objects.get(pk=webhook.pk).secret
    assert secret not in stored
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another", [settings.SECRET_KEY]
    endpoints.send_test(webhook)
    delivery.deliver_due()
    assert WebhookDelivery.objects.get().state == State.DELIVERED
    settings.SECRET_KEY_FALLBACKS = []
    row = endpoints.send_test(webhook)
    delivery.deliver_due()
    row.refresh_from_db()
    assert (row.state, "Rotate it" in row.error) == (State.PENDING, True)


def test_a_failed_delivery_is_repeated_after_growing_pauses(create: Create, receiver: WebhookReceiver) -> None:
    webhook, _ = create()
    receiver.statuses = [500, 302, 200]
    receiver.location = receiver.url
    row, waiting = endpoints.send_test(webhook), endpoints.send_test(webhook)
    pauses = []
    for _ in range(2):
        before = timezone.now()
        delivery.deliver_due()
        row.refresh_from_db()
        waiting.refresh_from_db()
        assert (row.state, row.response_status is not None) == (State.PENDING, True)
        assert row.due_at is not None
        assert waiting.due_at == row.due_at, "the others wait as long"
        pauses.append((row.due_at - before).total_seconds())
        WebhookDelivery.objects.filter(pk=row.pk).update(due_at=timezone.now())
    first, second, third, *_ = delivery.RETRY_PAUSES
    assert first <= pauses[0] < second <= pauses[1] < third
    delivery.deliver_due()
    row.refresh_from_db()
    assert (row.state, row.attempts, row.response_status) == (State.DELIVERED, 3, 200)
    assert len({message["headers"]["webhook-id"] for message in receiver.received}) == 1
    assert len(receiver.received) == 3, "redirects are not followed"


def test_a_webhook_without_any_success_is_switched_off(create: Create, receiver: WebhookReceiver) -> None:
    webhook, _ = create()
    receiver.statuses = [500]
    row = fail_until_the_last_attempt(webhook)
    webhook.refresh_from_db()
    assert (row.state, webhook.is_active, webhook.disabled_reason) == (State.FAILED, False, delivery.NO_SUCCESS)
    deliveries = WebhookDelivery.objects.filter(pk=row.pk)
    assert [endpoints.retry_deliveries(deliveries) for _ in range(2)] == [1, 0]
    endpoints.update_webhook(webhook, endpoints.WebhookSettings(is_active=True))
    delivery.deliver_due()
    row.refresh_from_db()
    assert (row.state, webhook.is_active, webhook.disabled_reason) == (State.DELIVERED, True, "")
    receiver.statuses = [500]
    Webhook.objects.update(last_success_at=timezone.now() + datetime.timedelta(seconds=5))
    fail_until_the_last_attempt(webhook)
    webhook.refresh_from_db()
    assert webhook.is_active, "other deliveries succeeded meanwhile"


def test_an_address_that_is_gone_is_switched_off_at_once(create: Create, receiver: WebhookReceiver) -> None:
    webhook, _ = create()
    receiver.statuses = [410]
    for _ in range(2):
        endpoints.send_test(webhook)
    delivery.deliver_due()
    webhook.refresh_from_db()
    assert (webhook.is_active, webhook.disabled_reason) == (False, delivery.ADDRESS_GONE)
    assert set(WebhookDelivery.objects.values_list("state", flat=True)) == {State.FAILED}
    assert len(receiver.received) == 1


def test_private_addresses_are_refused_when_connecting(
    create: Create, receiver: WebhookReceiver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host name may resolve to a private address only later (DNS rebinding)."""
    webhook, _ = create()
    settings.RAG_WEBHOOK_PRIVATE_HOSTS = []
    settings.RAG_ALLOWED_PRIVATE_HOSTS = ["127.0.0.1"]  # of models, which superusers enter
    row = endpoints.send_test(webhook)
    delivery.deliver_due()
    row.refresh_from_db()
    assert (receiver.received, "RAG_WEBHOOK_PRIVATE_HOSTS" in row.error) == ([], True)
    answers = iter(["93.184.215.14", "127.0.0.1"])
    address = socket.getaddrinfo("127.0.0.1", 80, type=socket.SOCK_STREAM)

    def resolve(host: str, port: int, *args: Any, **options: Any) -> list[Any]:
        return [(*address[0][:4], (next(answers), port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    endpoints.check_url("http://rebinding.example/hook")
    with pytest.raises(webhook_client.PostFailed, match="RAG_WEBHOOK_PRIVATE_HOSTS"):
        webhook_client.post("http://rebinding.example/hook", body=b"", headers={}, timeout_seconds=5)


def test_an_answer_that_never_ends_costs_a_fixed_time() -> None:
    """Each byte begins the time-out of the connection again, but not the deadline."""

    class Endless(httpcore2.NetworkStream):
        def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
            waits.append(timeout)
            return b"x"

    waits: list[float | None] = []
    stream = outbound_connections.DeadlineStream(Endless())
    for deadline in (outbound_connections.Deadline(10, total=1_000), outbound_connections.Deadline(10, total=5)):
        assert stream.read(1, timeout=deadline) == b"x"
    with pytest.raises(httpcore2.ReadTimeout):
        stream.read(1, timeout=outbound_connections.Deadline(10, total=-1))
    assert [wait is not None and wait <= limit for wait, limit in zip(waits, (10, 5), strict=True)] == [True, True]


def test_a_delivery_of_a_lost_worker_is_sent_again(create: Create, receiver: WebhookReceiver) -> None:
    webhook, _ = create()
    row = endpoints.send_test(webhook)
    assert [claimed.pk for claimed in delivery.claim_due_deliveries(8, busy=[])] == [row.pk]  # and the worker is gone
    delivery.deliver_due()
    assert receiver.received == [], "another worker has it"
    make_due()
    delivery.deliver_due()
    row.refresh_from_db()
    assert (row.state, row.attempts, len(receiver.received)) == (State.DELIVERED, 2, 1)


def test_one_webhook_does_not_hold_up_another(create: Create, receiver: WebhookReceiver) -> None:
    first, _ = create()
    second, _ = create()
    rows = [endpoints.send_test(webhook) for webhook in (first, first, first, second)]
    assert {claimed.pk for claimed in delivery.claim_due_deliveries(8, busy=[])} == {rows[0].pk, rows[3].pk}
    assert delivery.claim_due_deliveries(8, busy=[rows[0], rows[3]]) == []


def test_deliveries_are_deleted_after_their_retention_period(
    create: Create, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook, _ = create()
    rows = [events.record_for(webhook, "webhook.test", {}) for _ in range(4)]
    age = datetime.timedelta(days=delete_old_deliveries.RETENTION_DAYS, minutes=1)
    WebhookDelivery.objects.filter(pk=rows[3].pk).update(created_at=timezone.now() - age)
    monkeypatch.setattr(delete_old_deliveries, "MAX_DELIVERIES", 2)
    delete_old_deliveries.delete_expired_deliveries()
    assert set(WebhookDelivery.objects.values_list("pk", flat=True)) == {rows[1].pk, rows[2].pk}


def test_an_organization_takes_as_many_places_as_it_leaves_free(live_world: World) -> None:
    """Slow addresses of one organisation do not hold up the deliveries of others, however many wait."""
    home, abroad = live_world.home, live_world.abroad
    for organization in [home] * 10 + [abroad]:
        webhook = Webhook.objects.create(organization=organization, url="https://x.example/", events=["job.failed"])
        events.record_for(webhook, "webhook.test", {})
    first = delivery.claim_due_deliveries(8, busy=[])
    assert Counter(row.webhook.organization_id for row in first) == {home.pk: 4, abroad.pk: 1}
    assert delivery.claim_due_deliveries(3, busy=first) == []
