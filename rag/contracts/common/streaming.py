"""Streamed answers as server-sent events (WHATWG HTML, 9.2): `sources`, `token`…, `done` with the whole body; or
`error`."""

from collections.abc import Callable, Generator, Iterator
from typing import Annotated, TypedDict

import structlog
from django.db import connection
from django.http import StreamingHttpResponse
from rest_framework.exceptions import APIException
from rest_framework.renderers import JSONRenderer

from rag.types import AnswerEvents, Result, Retrieval

from .base import ErrorHandler


class StreamEvent(TypedDict):
    """One server-sent event; `data` is JSON."""

    event: Annotated[str, {"enum": ["sources", "token", "done", "error"]}]
    data: str


# An example stream for the OpenAPI schema.
EVENTS = (
    'event: sources\ndata: {…}\n\nevent: token\ndata: {"text":"The"}\n\nevent: token\ndata: {"text":" answer"}\n\n'
    "event: done\ndata: {…}\n\n"
)

logger = structlog.get_logger(__name__)


def stream(
    events: AnswerEvents[Result],
    *,
    sources: Callable[[Retrieval], object],
    done: Callable[[Result], object],
    on_error: ErrorHandler,
) -> StreamingHttpResponse:
    """Stream an answer while it is generated.

    An error before the first event is raised, so that it gets its HTTP status. An error after that is the last event
    of the stream, with the contract's error body.

    Args:
        events: The answer's events; at least one precedes the result.
        sources: Renders the retrieval in the contract's format.
        done: Renders the complete answer in the contract's format.
        on_error: The contract's exception handler.
    """
    first = next(events)
    content = _stream_events(first, events, sources, done, on_error)
    response = StreamingHttpResponse(content, content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"  # stops nginx from buffering
    return response


def _stream_events(
    first: Retrieval | str,
    events: AnswerEvents[Result],
    sources: Callable[[Retrieval], object],
    done: Callable[[Result], object],
    on_error: ErrorHandler,
) -> Iterator[bytes]:
    connection.close()  # do not hold a database connection while the language model generates
    try:
        yield _render_event(first, sources)
        result = yield from _stream_rest(events, sources)
        yield _format_event("done", done(result))
    except Exception as error:
        yield _format_event("error", _error_body(error, on_error))
    finally:
        events.close()  # stops the language model if the client has disconnected
        connection.close()


def _stream_rest(
    events: AnswerEvents[Result], sources: Callable[[Retrieval], object]
) -> Generator[bytes, None, Result]:
    while True:
        try:
            event = next(events)
        except StopIteration as end:
            result: Result = end.value
            return result
        finally:
            connection.close()  # generating checked access again; release the connection until the next check
        yield _render_event(event, sources)


def _render_event(event: Retrieval | str, sources: Callable[[Retrieval], object]) -> bytes:
    if event == "":  # a comment keeps proxies from timing out and reveals a disconnected client
        return b": waiting\n\n"
    return (
        _format_event("token", {"text": event}) if isinstance(event, str) else _format_event("sources", sources(event))
    )


def _format_event(name: str, data: object) -> bytes:
    # JSONRenderer escapes line breaks, so the data is one line.
    return b"event: %s\ndata: %s\n\n" % (name.encode(), JSONRenderer().render(data))


def _error_body(error: Exception, on_error: ErrorHandler) -> object:
    response = on_error(error, {})
    if response is None:  # an unexpected exception: log it; the client gets the request id
        logger.exception("stream_failed")
        response = on_error(APIException("Something went wrong on this side."), {})
    return response.data if response is not None else None
