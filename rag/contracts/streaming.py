"""Server-sent events (WHATWG HTML, 9.2): `sources`, then `token`s, then `done` with the whole body; or `error`."""

from collections.abc import Callable, Generator, Iterator
from typing import Any

import structlog
from django.db import connection
from django.http import StreamingHttpResponse
from rest_framework.exceptions import APIException
from rest_framework.renderers import JSONRenderer

from rag.types import Retrieval

from .base import ErrorHandler

logger = structlog.get_logger(__name__)

Event = Any


def stream(
    events: Iterator[Event],
    *,
    sources: Callable[[Retrieval], Any],
    done: Callable[[Any], Any],
    on_error: ErrorHandler,
) -> StreamingHttpResponse:
    """The events of a service as a response. What goes wrong before the first of them is raised, and gets a status of
    its own; later, the contract's error body is the last event.

    sources, done: the contract's bodies for the first and the last event.
    """
    first = next(events)
    response = StreamingHttpResponse(
        _sent(first, events, sources=sources, done=done, on_error=on_error), content_type="text/event-stream"
    )
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"  # nginx would keep the words back
    return response


def _sent(
    first: Event,
    events: Iterator[Event],
    *,
    sources: Callable[[Retrieval], Any],
    done: Callable[[Any], Any],
    on_error: ErrorHandler,
) -> Generator[bytes, None, None]:
    # A connection to the database that waits for a language model is missing elsewhere.
    connection.close()
    try:
        yield _event("sources", sources(first)) if isinstance(first, Retrieval) else _piece_or_done(first, done)
        for event in events:
            yield _piece_or_done(event, done)
    except Exception as error:
        yield _event("error", _error_body(error, on_error))
    finally:
        if isinstance(events, Generator):
            events.close()  # a client that left: the model need not go on
        connection.close()


def _error_body(error: Exception, on_error: ErrorHandler) -> Any:
    response = on_error(error, {})
    if response is None:  # not foreseen: the log has it, the client a request id
        logger.exception("stream_errored")
        response = on_error(APIException("Something went wrong on this side."), {})
    return response.data if response is not None else None


def _piece_or_done(event: Event, done: Callable[[Any], Any]) -> bytes:
    return _event("token", {"text": event}) if isinstance(event, str) else _event("done", done(event))


def _event(name: str, data: Any) -> bytes:
    # The renderer escapes line ends inside strings, so that the data is one line.
    return b"event: %s\ndata: %s\n\n" % (name.encode(), JSONRenderer().render(data))
