"""The admin pages of webhooks and their deliveries: who sees them, secrets, what was sent."""

import re
from typing import Any

import pytest
from django.test import Client

from accounts.audit.events import AuditEvent
from rag.models import Webhook, WebhookDelivery
from rag.services.webhooks import endpoints
from ragsite.postgres import encryption
from tests.support.browsers import staff_browser
from tests.support.factories import World

LIST, DELIVERIES = "/admin/rag/webhook/", "/admin/rag/webhookdelivery/"
URL = "https://93.184.215.14/hook?token=hidden"


@pytest.fixture
def admin(world: World) -> Client:
    return staff_browser(world.users["admin"])


def add(client: Client, world: World, **fields: Any) -> str:
    values = {"organization": world.home.pk, "url": URL, "events": ["job.failed"], "is_active": "on", **fields}
    return client.post(f"{LIST}add/", values, follow=True).content.decode()


def test_the_secret_is_shown_once(admin: Client, world: World) -> None:
    (secret,) = re.findall(r"whsec_[\w+/=]+", add(admin, world))
    webhook = Webhook.objects.get()
    assert (webhook.events, encryption.decrypt(webhook.secret, encryption.Purpose.WEBHOOK)) == (["job.failed"], secret)
    assert "whsec_" not in admin.get(f"{LIST}{webhook.pk}/change/").content.decode()
    page = admin.post(LIST, {"action": "rotate_secret", "_selected_action": [webhook.pk]}, follow=True)
    (new_secret,) = re.findall(r"whsec_[\w+/=]+", page.content.decode())
    webhook = Webhook.objects.get()
    assert (
        encryption.decrypt(webhook.secret, encryption.Purpose.WEBHOOK),
        encryption.decrypt(webhook.old_secret, encryption.Purpose.WEBHOOK),
    ) == (new_secret, secret)
    assert AuditEvent.objects.filter(kind="webhook", action="created").count() == 1
    assert "hidden" not in str(list(AuditEvent.objects.filter(kind="webhook").values())), "addresses may hold secrets"


def test_private_addresses_are_refused(admin: Client, world: World) -> None:
    assert "This must be an address such as https://example.com/hook" in add(admin, world, url="nonsense")
    assert "private network" in add(admin, world, url="http://10.0.0.1/")
    assert not Webhook.objects.exists()


def test_a_form_says_that_too_many_long_requests_are_in_progress(admin: Client, world: World, settings: Any) -> None:
    settings.RAG_MAX_LONG_REQUESTS = 0  # for the look-up of the address
    assert "Too many of your requests" in add(admin, world)
    assert not Webhook.objects.exists()


def test_a_webhook_that_was_switched_off_is_switched_on(admin: Client, world: World) -> None:
    add(admin, world)
    Webhook.objects.update(is_active=False, disabled_reason="It was gone.")
    webhook = Webhook.objects.get()
    values = {"url": URL, "events": ["job.finished"], "is_active": "on"}
    assert admin.post(f"{LIST}{webhook.pk}/change/", values).status_code == 302
    webhook.refresh_from_db()
    assert (webhook.is_active, webhook.disabled_reason, webhook.events) == (True, "", ["job.finished"])


def test_more_test_events_than_a_webhook_may_get_are_refused(
    admin: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoints, "MAX_TESTS_AN_HOUR", 0)
    add(admin, world)
    action = {"action": "send_test", "_selected_action": [Webhook.objects.get().pk]}
    assert "at most 0 test events" in admin.post(LIST, action, follow=True).content.decode()
    assert not WebhookDelivery.objects.exists()


def test_deliveries_are_shown_and_sent_again(admin: Client, world: World) -> None:
    add(admin, world)
    admin.post(LIST, {"action": "send_test", "_selected_action": [Webhook.objects.get().pk]})
    delivery = WebhookDelivery.objects.get()
    WebhookDelivery.objects.update(state="failed", due_at=None, error="The address answered 500.")
    assert f": {URL.split('?')[0]}" in admin.get(LIST).content.decode(), (
        "screen readers hear whose deliveries are shown"
    )
    assert "The address answered 500." in admin.get(DELIVERIES).content.decode()
    assert "webhook.test" in admin.get(f"{DELIVERIES}{delivery.pk}/change/").content.decode()
    admin.post(DELIVERIES, {"action": "send_again", "_selected_action": [delivery.pk]})
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts) == ("pending", 0)
    action = {"action": "send_again", "_selected_action": [delivery.pk]}
    assert "None of these deliveries has failed" in admin.post(DELIVERIES, action, follow=True).content.decode()


def test_only_those_who_manage_the_sources_open_the_pages(admin: Client, world: World) -> None:
    add(admin, world)
    webhook = Webhook.objects.get()
    for name in ("editor", "member", "foreigner"):
        client = staff_browser(world.users[name])
        assert {client.get(url).status_code for url in (LIST, DELIVERIES, f"{LIST}add/")} == {403}
        assert client.get(f"{LIST}{webhook.pk}/change/").status_code == 403


def test_the_events_have_a_german_label(admin: Client) -> None:
    german = admin.get(f"{LIST}add/", HTTP_ACCEPT_LANGUAGE="de").content.decode()
    assert ("Ereignisse:" in german, "Events:" in german) == (True, False)
