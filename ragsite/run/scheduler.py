"""The scheduler of periodic tasks: any number may run, and one of them sends tasks (decision 0071).

The right to send them is a lease in Redis, where their messages go as well: a scheduler that cannot renew its lease
cannot send messages either. The times of the latest runs are stored next to it for the next scheduler.
"""

import contextlib
import datetime
import os
import secrets
import socket
import time
from pathlib import Path
from typing import Any

import redis
import structlog
from celery.beat import PersistentScheduler
from redis.backoff import NoBackoff
from redis.retry import Retry

log = structlog.get_logger(__name__)

_LEASE_SECONDS = 15
_RENEWAL_SECONDS = 4
_TIMEOUT_SECONDS = 2
# The largest expected difference between the clocks of two machines.
_MAX_CLOCK_DIFFERENCE = datetime.timedelta(minutes=1)
# Both set the lease only if nobody else has renewed or taken it in the meantime.
_REPLACE = """
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] and holder ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return 1
"""
_RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class Lease:
    """The right to send periodic tasks, for a few seconds. A process keeps it for as long as it renews the lease."""

    def __init__(self, client: redis.Redis, key: str, *, owner: str | None = None) -> None:
        """Take no lease yet.

        Args:
            client: Redis, with a limit of time.
            key: Where the lease is stored.
            owner: Who takes it: this process by default.
        """
        self._client, self._key, self._owner = client, key, owner or describe_process()
        self._ends_at = self._renew_at = 0.0

    def take_or_renew(self) -> bool:
        """Take or renew the lease; return whether this process has it. It has none while Redis does not answer."""
        now = time.monotonic()
        if now < self._renew_at:
            return True
        try:
            current = str(self._client.get(self._key) or "")
            # A lease of a process of this machine that has ended is free immediately.
            replaced = current if _has_ended(current) else self._owner
            is_held = bool(self._client.eval(_REPLACE, 1, self._key, self._owner, replaced, str(_LEASE_SECONDS * 1000)))
        except redis.RedisError:
            return now < self._ends_at
        self._ends_at = now + _LEASE_SECONDS if is_held else 0.0
        self._renew_at = now + _RENEWAL_SECONDS if is_held else 0.0
        return is_held

    def release(self) -> None:
        """Let another process take the lease immediately."""
        self._ends_at = self._renew_at = 0.0
        self._client.eval(_RELEASE, 1, self._key, self._owner)


class SingleScheduler(PersistentScheduler):
    """Sends periodic tasks while it holds the lease, and otherwise waits for the lease."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)
        prefix = self.app.conf.broker_transport_options.get("global_keyprefix", "")
        client = redis.Redis.from_url(
            self.app.conf.broker_url.replace("redis+socket://", "unix://", 1),
            decode_responses=True,
            socket_timeout=_TIMEOUT_SECONDS,
            socket_connect_timeout=_TIMEOUT_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        self._client, self._last_runs = client, f"{prefix}scheduler-runs"
        self.lease = Lease(client, f"{prefix}scheduler")
        self._is_active = False
        self._postponed: object = None  # the entry that is not sent, because its run could not be stored

    def tick(self, *arguments: Any, **options: Any) -> float:
        """Send the next task that is due, if this scheduler holds the lease; return the seconds until the next call."""
        was_active, self._is_active = self._is_active, self.lease.take_or_renew()
        if not self._is_active:
            return 1.0
        if not was_active:
            log.info("scheduler_active")
            self._read_last_runs()
        self._postponed = None
        seconds = float(super().tick(*arguments, **options))
        return 1.0 if self._postponed else min(seconds, float(_RENEWAL_SECONDS))

    def reserve(self, entry: Any) -> Any:
        """Store the time of this run for the scheduler that continues after this one.

        If Redis does not answer, the task stays due. Its message would arrive later, when another scheduler may have
        sent it.
        """
        next_entry: Any = super().reserve(entry)
        try:
            self._client.hset(self._last_runs, entry.name, next_entry.last_run_at.isoformat())
        except redis.RedisError:
            log.warning("scheduler_run_not_stored", task=entry.name)
            self._postponed = self.schedule[entry.name] = entry
            self._heap = None  # is filled again with the time of the run before
            return entry
        return next_entry

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        """Send a task, unless it is postponed."""
        if entry is not self._postponed:
            super().apply_entry(entry, producer=producer)

    def _read_last_runs(self) -> None:
        """Continue where the scheduler before this one ended."""
        try:
            runs = self._client.hgetall(self._last_runs)
        except redis.RedisError:
            return
        entries: dict[str, Any] = self.schedule
        now = self.app.now()
        for name, entry in entries.items():
            with contextlib.suppress(KeyError, ValueError):
                last_run = datetime.datetime.fromisoformat(str(runs[name]))
                # Where the clock was wrong, a time in the future would keep the task from running until then.
                if entry.last_run_at < last_run <= now + _MAX_CLOCK_DIFFERENCE:
                    entry.last_run_at = last_run
        self._heap = None  # is filled again with these times


def describe_process() -> str:
    """Return a name of this process that no other process has, here or elsewhere, now or later."""
    return "|".join(
        [_process_namespace(), str(os.getpid()), _start_time(os.getpid()), socket.gethostname(), secrets.token_hex(4)]
    )


def _has_ended(owner: str) -> bool:
    """Return whether this names a process of the same kernel and process namespace that does not run any more."""
    kernel, _, process = owner.partition("|")
    process_id, _, rest = process.partition("|")
    if not kernel or kernel != _process_namespace() or not process_id.isdigit():
        return False
    return _start_time(int(process_id)) != rest.partition("|")[0]


def _process_namespace() -> str:
    """Return an id that all processes have that see each other's process ids; empty if it is not known."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _start_time(process_id: int) -> str:
    try:
        status = Path(f"/proc/{process_id}/stat").read_text()
    except OSError:
        return ""
    state, *fields = status.rpartition(")")[2].split()
    return "" if state == "Z" else fields[18]  # the 22nd field of the file
