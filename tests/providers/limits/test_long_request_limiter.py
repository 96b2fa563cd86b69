"""Places for requests that hold a thread for long (rag.providers.limits.long_request_limiter)."""

import contextlib
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from rag.errors import GenerationFailed, TooManyLongRequests
from rag.providers.limits.long_request_limiter import LongRequestLimiter
from rag.providers.limits.model_call_limiter import ModelCallLimiter
from ragsite.postgres import identity

ADA, BOB = uuid.uuid4(), uuid.uuid4()


@pytest.fixture
def limiter(settings: Any) -> LongRequestLimiter:
    settings.RAG_MAX_LONG_REQUESTS = 8
    return LongRequestLimiter()


class Request:
    """A request of an account in a thread of its own, which ends with `end`."""

    def __init__(self, limiter: LongRequestLimiter, account: uuid.UUID) -> None:
        self.is_refused = False
        self._decided, self._ends = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, args=(limiter, account))
        self._thread.start()
        assert self._decided.wait(10)

    def _run(self, limiter: LongRequestLimiter, account: uuid.UUID) -> None:
        identity.set_current(identity.of_user(account))
        try:
            with limiter.admit():
                self._decided.set()
                self._ends.wait(60)
        except TooManyLongRequests:
            self.is_refused = True
            self._decided.set()

    def end(self) -> None:
        self._ends.set()
        self._thread.join(10)


@contextlib.contextmanager
def requests(limiter: LongRequestLimiter, accounts: list[uuid.UUID]) -> Iterator[list[Request]]:
    started = [Request(limiter, account) for account in accounts]
    try:
        yield started
    finally:
        for request in started:
            request.end()


def test_an_account_gets_half_of_the_places_and_leaves_some_to_every_other(limiter: LongRequestLimiter) -> None:
    with requests(limiter, [ADA] * 6 + [BOB] * 4) as started:
        assert [request.is_refused for request in started] == [False] * 4 + [True] * 2 + [False] * 2 + [True] * 2
        with requests(limiter, [uuid.uuid4()]) as (newcomer,):
            assert not newcomer.is_refused
    with requests(limiter, [ADA] * 4) as started:
        assert not any(request.is_refused for request in started), "places are free again"


def test_nested_entries_of_one_request_take_one_place(limiter: LongRequestLimiter, settings: Any) -> None:
    settings.RAG_MAX_LONG_REQUESTS = 1
    with identity.run_as(identity.of_user(ADA)):
        with limiter.admit(), limiter.admit(), requests(limiter, [BOB]) as (other,):
            assert other.is_refused
        with limiter.admit(), requests(limiter, [BOB]) as (other,):
            assert other.is_refused, "the account takes a place again after its earlier request has ended"


def test_a_place_that_another_thread_gives_back_is_free(limiter: LongRequestLimiter, settings: Any) -> None:
    """As for a stream that garbage collection ends."""
    settings.RAG_MAX_LONG_REQUESTS = 1

    def stream() -> Iterator[int]:
        with limiter.admit():
            yield 1

    with identity.run_as(identity.of_user(ADA)):
        events: Any = stream()
        next(events)
        closing = threading.Thread(target=events.close)
        closing.start()
        closing.join()
        with limiter.admit(), requests(limiter, [BOB]) as (other,):
            assert other.is_refused


def test_workers_need_no_place(limiter: LongRequestLimiter, settings: Any) -> None:
    settings.RAG_MAX_LONG_REQUESTS = 0
    with identity.run_as(identity.WORKER), limiter.admit():
        pass


def test_calls_of_models_need_a_place(settings: Any) -> None:
    settings.RAG_MAX_LONG_REQUESTS = 0
    with identity.run_as(identity.of_user(ADA)), pytest.raises(TooManyLongRequests):
        ModelCallLimiter("chat").call("m", GenerationFailed).__enter__()
