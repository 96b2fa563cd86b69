"""What an asynchronous generator yields, for code that waits in an ordinary way and may have to stop waiting."""

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator

# As often as this a wait is interrupted, in seconds.
EVERY = 1.0


def aside(speak: Callable[[], AsyncIterator[str]]) -> Iterator[str]:
    """The pieces as they come, and "" for each second without one; raises what `speak` raises.

    Whoever closes this iterator ends `speak` wherever it waits, with the connections that it has opened. A thread that
    reads a socket cannot be ended so: it runs in a thread with an event loop of its own.
    """
    running = _Running(speak)
    thread = threading.Thread(target=running.run, name="language-model", daemon=True)
    thread.start()
    try:
        while (piece := running.next()) is not None:
            yield piece
    finally:
        running.stop()
        thread.join(EVERY)  # a name that is being looked up cannot be given up


class _Running:
    def __init__(self, speak: Callable[[], AsyncIterator[str]]) -> None:
        self._speak = speak
        self._said: queue.SimpleQueue[str | Exception | None] = queue.SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._task = self._loop.create_task(self._listen())

    def run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.get_loop().run_until_complete(self._task)

    def next(self) -> str | None:
        """None at the end."""
        try:
            said = self._said.get(timeout=EVERY)
        except queue.Empty:
            return ""
        if isinstance(said, Exception):
            raise said
        return said

    def stop(self) -> None:
        if not self._loop.is_closed():
            try:
                self._loop.call_soon_threadsafe(self._task.cancel)
            except RuntimeError:  # it came to its end meanwhile
                return

    async def _listen(self) -> None:
        try:
            async for piece in self._speak():
                self._said.put(piece)
        except asyncio.CancelledError:
            return
        except Exception as error:
            self._said.put(error)
            return
        self._said.put(None)
