"""A stream of an asynchronous generator, for synchronous code that can stop waiting for it."""

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator

# After so long without a value, "" is yielded. Streams then send a comment, which keeps their connections open
# (rag.contracts.common.streaming), and the caller checks its access again.
KEEP_ALIVE_SECONDS = 1.0
_MAX_SECONDS_TO_STOP = 1.0


def iterate_async(generate: Callable[[], AsyncIterator[str]]) -> Iterator[str]:
    """Run the generator in a thread with an event loop, and yield its values.

    Closing this iterator cancels the generator wherever it waits, and closes its connections. A thread that reads a
    socket synchronously could not be cancelled.

    Args:
        generate: A function that creates the generator. The generator's exceptions are raised here.

    Yields:
        The generator's values as they arrive, and "" after every KEEP_ALIVE_SECONDS without a value.
    """
    running = _RunningGenerator(generate)
    thread = threading.Thread(target=running.run, name="language-model", daemon=True)
    thread.start()
    try:
        while (value := running.next()) is not None:
            yield value
    finally:
        running.stop()
        thread.join(_MAX_SECONDS_TO_STOP)  # with a limit: a DNS lookup cannot be cancelled


class _RunningGenerator:
    def __init__(self, generate: Callable[[], AsyncIterator[str]]) -> None:
        self._generate = generate
        self._values: queue.SimpleQueue[str | Exception | None] = queue.SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._task = self._loop.create_task(self._collect())

    def run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.get_loop().run_until_complete(self._task)

    def next(self) -> str | None:
        """Return the next value; "" if none arrives within KEEP_ALIVE_SECONDS, None at the end."""
        try:
            value = self._values.get(timeout=KEEP_ALIVE_SECONDS)
        except queue.Empty:
            return ""
        if isinstance(value, Exception):
            raise value
        return value

    def stop(self) -> None:
        if not self._loop.is_closed():
            try:
                self._loop.call_soon_threadsafe(self._task.cancel)
            except RuntimeError:  # the loop has ended meanwhile
                return

    async def _collect(self) -> None:
        try:
            async for value in self._generate():
                self._values.put(value)
        except asyncio.CancelledError:
            return
        except Exception as error:
            self._values.put(error)
            return
        self._values.put(None)
