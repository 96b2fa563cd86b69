"""A receiver of webhooks, and a webhook of `home` that sends every event to it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from orgs.access.caller import Caller
from rag.models import Webhook, WebhookEvent
from rag.services.webhooks import endpoints
from rag.services.webhooks.endpoints import WebhookSettings
from tests.support.factories import World
from tests.support.servers.webhook_receiver import WebhookReceiver

Create = Callable[..., tuple[Webhook, str]]


@pytest.fixture
def receiver(settings: Any) -> Iterator[WebhookReceiver]:
    settings.RAG_WEBHOOK_PRIVATE_HOSTS = ["127.0.0.1"]
    with WebhookReceiver().running() as receiver:
        yield receiver


@pytest.fixture
def create(world: World, receiver: WebhookReceiver) -> Create:
    """Create a webhook of `home` and return it with its secret."""

    def create_webhook(**fields: Any) -> tuple[Webhook, str]:
        values = {"url": receiver.url, "events": WebhookEvent.values, **fields}
        return endpoints.create_webhook(Caller(world.users["owner"]), WebhookSettings(**values))

    return create_webhook
