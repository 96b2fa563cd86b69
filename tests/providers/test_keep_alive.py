"""A stream that waits for a model is not silent (rag.providers.language_models.keep_alive)."""

import contextvars
import threading
from collections.abc import Generator

import pytest

from rag.providers.language_models.keep_alive import wait_for


def collect(values: Generator[str, None, str]) -> tuple[list[str], str]:
    """Return what a generator yields, and what it returns."""
    yielded = []
    while True:
        try:
            yielded.append(next(values))
        except StopIteration as end:
            return yielded, end.value


def test_an_empty_text_comes_until_there_is_a_result() -> None:
    may_end = threading.Event()
    values = wait_for(lambda: str(may_end.wait(60)), seconds=0.001)
    assert [next(values) for _ in range(3)] == [""] * 3
    may_end.set()
    assert collect(values)[1] == "True"


def test_a_result_that_is_there_comes_alone() -> None:
    assert collect(wait_for(lambda: "done", seconds=60)) == ([], "done")


@pytest.mark.parametrize("error", [ValueError, TimeoutError])
def test_errors_are_raised(error: type[Exception]) -> None:
    def fail() -> str:
        raise error()

    with pytest.raises(error):
        collect(wait_for(fail, seconds=60))


def test_the_function_has_the_context_of_its_caller() -> None:
    variable = contextvars.ContextVar("variable", default="")
    variable.set("known")
    assert collect(wait_for(variable.get, seconds=60)) == ([], "known")
