"""Hosts whose clocks differ: the database's clock decides when leases end and which submission is the later one."""

import datetime
import uuid
from collections.abc import Callable

import pytest
from django.db import connection
from django.utils import timezone

from rag.models import DataSource, Document, IngestionDocument, IngestionJob
from rag.services.ingestion.queue import claims, recovery_sweep
from rag.services.jobs.create_job import create_job
from rag.types import ChunkingOptions, Submission
from ragsite.postgres.models import database_now, new_revision, new_revisions
from tests.support.factories import World, process_queue

State = IngestionDocument.State
HOUR = datetime.timedelta(hours=1)


def submit(world: World, source: DataSource, text: str) -> IngestionJob:
    return create_job(
        source=source,
        submissions=[Submission(path=path, title=path, text=text) for path in ("a", "b")],
        options=ChunkingOptions(512, 50),
        actor=world.users["editor"],
    )


@pytest.fixture
def on_a_host(monkeypatch: pytest.MonkeyPatch) -> Callable[[datetime.timedelta], None]:
    """on_a_host(difference): from here on this process has a clock that is fast by so much."""
    true_now = timezone.now

    def set_clock(difference: datetime.timedelta) -> None:
        monkeypatch.setattr(timezone, "now", lambda: true_now() + difference)

    return set_clock


@pytest.mark.parametrize("difference", [-HOUR, HOUR])
def test_a_lease_of_a_host_with_another_clock_lasts(
    world: World, on_a_host: Callable[[datetime.timedelta], None], difference: datetime.timedelta
) -> None:
    submit(world, world.source(), "Zebras.")
    on_a_host(difference)
    claimed = claims.claim_next(10)
    assert len(claimed) == 2
    on_a_host(-difference)
    recovery_sweep.sweep()
    assert set(IngestionDocument.objects.values_list("state", "attempts")) == {(State.RUNNING, 1)}
    remaining = max(document.due_at for document in claimed if document.due_at) - database_now()
    assert datetime.timedelta() < remaining <= datetime.timedelta(seconds=20)


def test_revisions_grow_with_the_clock_of_the_database(world: World) -> None:
    first, second = new_revisions(1000), new_revision()
    assert sorted({*first, second}) == [*first, second]
    assert {(value.version, value.variant) for value in first} == {(7, uuid.RFC_4122)}
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp()) * 1000")
        milliseconds = cursor.fetchone()[0]
    assert 0 <= milliseconds - (second.int >> 80) < 60_000


def test_the_later_submission_wins_whatever_the_clocks_of_the_web_servers(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A revision comes from the database alone: the keys that processes make are an hour fast here, then slow."""
    fast, slow = (uuid.UUID(int=new_revision().int + sign * (3_600_000 << 80)) for sign in (1, -1))
    source = world.source()
    for key, text in ((fast, "The first version."), (slow, "The second version.")):
        monkeypatch.setattr("uuid_utils.compat.uuid7", lambda key=key: uuid.UUID(int=key.int + next(COUNTER)))
        submit(world, source, text)
        process_queue()
    assert set(Document.objects.live().values_list("text", flat=True)) == {"The second version."}


COUNTER = iter(range(1, 1_000_000))


@pytest.mark.django_db
def test_postgres_notices_that_the_host_of_a_session_was_cut_off() -> None:
    """Not after hours. On the Unix socket of the tests the values themselves are 0."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, source FROM pg_settings WHERE name ~ '^tcp_(keepalives|user)' ORDER BY name")
        assert dict(cursor.fetchall()) == dict.fromkeys(
            ("tcp_keepalives_count", "tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_user_timeout"),
            "session",
        )
