"""What the clients find on the server that `make clients` starts."""

import json
import time

from rest_framework_simplejwt.tokens import AccessToken

from orgs.access.permissions import Scope
from orgs.api_keys import key_lifecycle
from rag.services.webhooks import signing
from tests.support.factories import World, ingest_text


def create() -> tuple[World, dict[str, str]]:
    """Create the tests' world with one document, and credentials.

    Returns:
        The world; KEY and TOKEN of a member of `home`, and LIMITED_KEY of a user of `abroad`, which may query once a
        minute.
    """
    world = World.create()
    ingest_text(world.source("library"), "zebra", "Zebras have stripes.", title="Zebras")
    world.abroad.queries_per_minute = 1
    world.abroad.save(update_fields=["queries_per_minute"])
    limited = key_lifecycle.issue(
        user=world.users["foreigner"], organization=world.abroad, name="limited", scopes=[Scope.QUERY]
    )
    return world, {
        "KEY": world.key("member", Scope.QUERY).secret,
        "LIMITED_KEY": limited.secret,
        "TOKEN": str(AccessToken.for_user(world.users["member"])),
    }


def signed_event() -> str:
    """Return a message to a webhook, as it is sent: its headers and body, and the secret of its signature."""
    secret, body, now = (
        signing.generate_secret(),
        json.dumps({"type": "job.failed", "data": {"path": "ü.md"}}),
        time.time(),
    )
    signature = signing.sign(secret, message_id="m1", timestamp=int(now), body=body.encode())
    headers = {"webhook-id": "m1", "webhook-timestamp": str(int(now)), "webhook-signature": signature}
    return json.dumps({"secret": secret, "headers": headers, "body": body})


def create_office(world: World) -> None:
    """Create the data source that the documentation's programs ask."""
    text = "Bicycles are parked in the yard."
    ingest_text(world.source("office"), "/bikes", text, title="Bicycles", metadata={"shelf": "7"})
