"""Slots of a process for expensive work, which callers wait for and share."""

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator


class FairSlots:
    """Counts the work of a process that is in flight (waiting or running), by caller.

    With N slots, N pieces of work run at a time. One caller gets half of the slots, and at least one. Some more work
    may wait for a slot. It is limited because each piece holds a thread, and other requests need threads, too.

    Example: With 2 slots, `max_of_caller_per_slot=4` and `max_per_slot=6`, one caller has 1 running and up to 7 waiting
    (4 times 2 in flight), and all callers together have 2 running and up to 10 waiting (6 times 2).
    """

    def __init__(
        self,
        slots: Callable[[], int],
        error: type[Exception],
        *,
        max_wait_seconds: float,
        max_of_caller_per_slot: int = 1,
        max_per_slot: int = 3,
    ) -> None:
        """Create the slots.

        Args:
            slots: Returns N, at least 1.
            error: The class of the exception for callers without a slot.
            max_wait_seconds: How long a caller waits for a slot.
            max_of_caller_per_slot: How many pieces of work of one caller may be in flight for each of the N slots.
            max_per_slot: How many of all callers.
        """
        self._slots, self._error, self._max_wait_seconds = slots, error, max_wait_seconds
        self._max_of_caller_per_slot, self._max_per_slot = max_of_caller_per_slot, max_per_slot
        self._changed = threading.Condition()
        self.in_flight: Counter[Hashable] = Counter()
        self._running: Counter[Hashable] = Counter()

    @contextlib.contextmanager
    def slot(self, caller: Hashable) -> Iterator[None]:
        """Wait for a slot, and hold it while the block runs. Raises the error if none becomes free in time."""
        self._enter(caller)
        try:
            yield
        finally:
            with self._changed:
                _decrement(self._running, caller)
                _decrement(self.in_flight, caller)
                self._changed.notify_all()

    def _enter(self, caller: Hashable) -> None:
        slots = self._slots()
        with self._changed:
            if (
                self.in_flight[caller] >= self._max_of_caller_per_slot * slots
                or self.in_flight.total() >= self._max_per_slot * slots
            ):
                raise self._error
            self.in_flight[caller] += 1
            if not self._changed.wait_for(lambda: self._is_free(caller), self._max_wait_seconds):
                _decrement(self.in_flight, caller)
                raise self._error
            self._running[caller] += 1

    def _is_free(self, caller: Hashable) -> bool:
        slots = self._slots()
        return self._running.total() < slots and self._running[caller] < max(1, slots // 2)


def _decrement(counter: Counter[Hashable], caller: Hashable) -> None:
    counter[caller] -= 1
    if not counter[caller]:
        del counter[caller]
