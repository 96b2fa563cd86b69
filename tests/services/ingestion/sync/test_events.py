"""What webhooks receive of syncs."""

from pathlib import Path

from rag.models import SyncConnection, SyncRun, Webhook, WebhookDelivery
from rag.services.ingestion.sync import run_actions
from tests.services.ingestion.sync.conftest import Sync
from tests.support.factories import World

EVENTS = ["sync.finished", "sync.failed", "sync.waiting"]


def received() -> list[tuple[str, int, int, str]]:
    """Event, added documents, disappeared documents and error of each delivery, the oldest first."""
    rows = WebhookDelivery.objects.order_by("created_at")
    return [
        (row.event, row.payload["data"]["added"], row.payload["data"]["missing"], row.payload["data"]["error"])
        for row in rows
    ]


def test_webhooks_hear_how_a_sync_ends(world: World, connection: SyncConnection, sync: Sync, folder: Path) -> None:
    Webhook.objects.create(organization=world.home, url="https://hooks.example", events=EVENTS, secret="x")
    Webhook.objects.create(organization=world.abroad, url="https://hooks.example", events=EVENTS, secret="x")
    for number in range(7):
        (folder / f"{number}.txt").write_text(f"Text {number}.")
    stopped = run_actions.start(connection, by=None)
    run_actions.stop(stopped)
    assert sync(stopped).state == SyncRun.State.STOPPED
    assert received() == [], "a person has stopped it"
    finished = sync()
    assert received() == [("sync.finished", 7, 0, "")]
    data = WebhookDelivery.objects.get().payload["data"]
    identity = {"syncId": str(finished.pk), "dataSource": "synced", "dataSourceId": str(connection.source_id)}
    assert {**data, **identity, "state": "finished"} == data
    for file in folder.iterdir():
        file.unlink()
    waiting = sync()
    assert received()[1:] == [("sync.waiting", 0, 7, "")]
    run_actions.refuse_removal(waiting)
    assert received()[2:] == [("sync.finished", 0, 7, str(run_actions.KEPT))]
    folder.rmdir()
    failed = sync()
    assert received()[3:] == [("sync.failed", 0, 0, failed.error)]
    assert failed.error
