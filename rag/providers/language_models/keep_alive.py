"""Waits for a model without leaving a stream silent."""

import contextvars
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import TypeVar

from .stoppable_stream import KEEP_ALIVE_SECONDS

Value = TypeVar("Value")


def wait_for(compute: Callable[[], Value], *, seconds: float = KEEP_ALIVE_SECONDS) -> Generator[str, None, Value]:
    """Run a function in a thread, and wait for it.

    The thread goes on if this generator is closed, so the function must have a time limit of its own. It must not use
    the database, whose connections belong to a thread.

    Args:
        compute: The function.
        seconds: How long the stream may be silent.

    Yields:
        "" each time the function has not ended after so many seconds.

    Returns:
        What the function returns; its exception is raised here.
    """
    outcome: Future[Value] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            outcome.set_result(context.run(compute))
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, name="keep-alive", daemon=True).start()
    while True:
        try:
            return outcome.result(timeout=seconds)
        except TimeoutError:
            if outcome.done():  # the function's own
                raise
        yield ""
