"""Several schedulers: one sends the periodic tasks, and another one continues when it ends (decision 0071)."""

import datetime
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import redis
from celery import Celery
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from ragsite.run import scheduler
from ragsite.run.scheduler import Lease, SingleScheduler

CODE = """
import sys
from ragsite.run.scheduler import describe_process
print(describe_process(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def prefix(tmp_path: Path) -> Iterator[str]:
    name = f"{settings.CELERY_BROKER_TRANSPORT_OPTIONS['global_keyprefix']}{tmp_path.name}:"
    yield name
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.delete(f"{name}scheduler", f"{name}scheduler-runs")


@pytest.fixture
def client(prefix: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(settings.REDIS_URL, decode_responses=True) as connection:
        yield connection


@pytest.fixture
def frozen_time(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The time of the leases, which does not go on by itself."""
    now = SimpleNamespace(seconds=1000.0)
    monkeypatch.setattr(scheduler, "time", SimpleNamespace(monotonic=lambda: now.seconds))
    return now


@pytest.fixture
def create(prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., SingleScheduler]:
    def create_scheduler(name: str, sent: list[str]) -> SingleScheduler:
        app = Celery(name, broker=settings.CELERY_BROKER_URL, set_as_current=False)
        app.conf.update(
            broker_transport_options={"global_keyprefix": prefix},
            beat_schedule={"nightly": {"task": "nightly", "schedule": datetime.timedelta(hours=24)}},
            timezone="UTC",
        )
        created = SingleScheduler(app, schedule_filename=str(tmp_path / name))
        monkeypatch.setattr(created, "apply_async", lambda entry, **_: sent.append(f"{name} {entry.name}"))
        return created

    return create_scheduler


def make_due(started: Any) -> None:
    entry = started.schedule["nightly"]
    entry.last_run_at = entry.last_run_at - datetime.timedelta(days=2)


def test_one_of_two_schedulers_sends_the_tasks_and_the_other_continues(create: Any) -> None:
    sent: list[str] = []
    first, second = create("first", sent), create("second", sent)
    for started in (first, second):
        make_due(started)
    for _ in range(3):
        first.tick()
        second.tick()
    assert sent == ["first nightly"]
    first.lease.release()
    for _ in range(3):
        second.tick()
    assert sent == ["first nightly"], "the second one knows that the task has run"
    make_due(second)
    second._heap = None
    second.tick()
    assert sent == ["first nightly", "second nightly"]
    for _ in range(3):
        first._is_active = first.lease.take_or_renew()
    assert not first._is_active


def test_a_task_is_not_sent_before_redis_knows_of_its_run(create: Any) -> None:
    """Otherwise its message arrives when Redis is back, where another scheduler may have sent the task."""
    sent: list[str] = []
    first, second = create("first", sent), create("second", sent)
    for started in (first, second):
        make_due(started)
    first._is_active = first.lease.take_or_renew()
    available = first._client
    first._client = redis.Redis(unix_socket_path="/nonexistent", retry=Retry(NoBackoff(), 0))
    assert [first.tick() for _ in range(3)] == [1.0] * 3, "it waits before it tries again"
    assert sent == []
    first._client = available
    for _ in range(3):
        first.tick()
    assert sent == ["first nightly"], "the task has stayed due"
    first.lease.release()
    for _ in range(3):
        second.tick()
    assert sent == ["first nightly"]


@pytest.mark.parametrize("stored", ["in the future", "in no format"])
def test_a_wrong_time_of_a_last_run_keeps_no_task_from_running(create: Any, stored: str) -> None:
    sent: list[str] = []
    started = create("only", sent)
    make_due(started)
    tomorrow = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
    value = tomorrow.isoformat() if stored == "in the future" else "?"
    started._client.hset(started._last_runs, "nightly", value)
    for _ in range(3):
        started.tick()
    assert sent == ["only nightly"]


def test_a_lease_belongs_to_one_owner_until_it_ends(client: Any, prefix: str, frozen_time: SimpleNamespace) -> None:
    first, second = Lease(client, f"{prefix}scheduler", owner="a"), Lease(client, f"{prefix}scheduler", owner="b")
    assert first.take_or_renew()
    assert not second.take_or_renew()
    frozen_time.seconds += 10
    assert first.take_or_renew(), "it is renewed"
    client.delete(f"{prefix}scheduler")  # as when it has ended, or Redis has lost it
    assert second.take_or_renew()
    frozen_time.seconds += 10
    assert not first.take_or_renew(), "the one that was cut off notices it at the next renewal"
    first.release()
    assert client.get(f"{prefix}scheduler") == "b", "nobody releases the lease of another one"
    assert 0 < client.pttl(f"{prefix}scheduler") <= 15_000


def test_no_lease_outlives_its_time_without_redis(client: Any, prefix: str, frozen_time: SimpleNamespace) -> None:
    lease = Lease(client, f"{prefix}scheduler", owner="a")
    assert lease.take_or_renew()
    lease._client = redis.Redis(unix_socket_path="/nonexistent", retry=Retry(NoBackoff(), 0))
    frozen_time.seconds += 10
    assert lease.take_or_renew()
    frozen_time.seconds += 10
    assert not lease.take_or_renew()


def test_the_lease_of_a_process_that_has_ended_is_taken_at_once(client: Any, prefix: str) -> None:
    command = [sys.executable, "-c", CODE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ) as other:
        assert other.stdout
        assert other.stdin
        owner = other.stdout.readline().strip()
        assert Lease(client, f"{prefix}scheduler", owner=owner).take_or_renew()
        waiting = Lease(client, f"{prefix}scheduler")
        assert not waiting.take_or_renew()
        other.stdin.close()
    assert waiting.take_or_renew()
    elsewhere = "another machine" + owner[owner.index("|") :]
    client.set(f"{prefix}scheduler", elsewhere)
    assert not Lease(client, f"{prefix}scheduler").take_or_renew(), "nobody knows whether it runs there"
