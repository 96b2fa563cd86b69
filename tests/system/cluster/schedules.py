"""Watches which scheduler sends periodic tasks: reads every command that Redis gets."""

import json
import threading
import time
from typing import Any, Self

import redis

from .verdict import SentTask

# Only schedulers send this task, every RAG_SWEEP_INTERVAL_SECONDS.
WATCHED_TASK = "rag.apply_index_changes"
_QUEUE = "ragsite:maintenance"


class ScheduleWatch:
    """Records the messages of periodic tasks while the context is entered."""

    def __init__(self, url: str) -> None:
        self.sent: list[SentTask] = []
        self.failure = ""  # why it ended too early
        self._client = redis.Redis.from_url(url, socket_timeout=None)  # it waits where nothing is sent
        self._finished = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._finished.set()
        self._client.set("end-of-watch", "1")  # wakes the thread
        self._thread.join(10)

    def active_host(self) -> str:
        """Return the host whose scheduler holds the lease; empty if none does."""
        owner = self._client.get("ragsite:scheduler")
        return owner.decode().split("|")[3] if isinstance(owner, bytes) else ""

    def _watch(self) -> None:
        try:
            with self._client.monitor() as monitor:
                for command in monitor.listen():
                    if self._finished.is_set():
                        return
                    self._record(command["command"])
        except (redis.RedisError, ValueError, LookupError) as error:
            self.failure = repr(error)

    def _record(self, command: str) -> None:
        name, _, rest = command.partition(" ")
        if name.upper() != "LPUSH" or not rest.startswith(_QUEUE):
            return
        message: dict[str, Any] = json.loads(_unescape(rest[len(_QUEUE) :].strip()))
        headers = message["headers"]
        host = str(headers["origin"]).partition("@")[2]
        self.sent.append(SentTask(time.monotonic(), headers["task"], host))


def _unescape(text: str) -> str:
    return text.encode().decode("unicode_escape") if '\\"' in text[:4] else text
