"""Streamed answers as server-sent events (WHATWG HTML, 9.2): `sources`, `token`…, `done` with the whole body; or
`error`. A contract may have another format (`stream_as`)."""

import contextlib
from collections.abc import Callable, Generator, Iterator
from typing import Protocol, TypedDict, TypeVar

import structlog
from django.db import connection
from django.http import StreamingHttpResponse
from rest_framework.exceptions import APIException

from rag.providers.limits.long_request_limiter import LONG_REQUESTS
from rag.types import AnswerEvents, Result, Retrieval
from ragsite.http.bodies.json_renderer import render_line
from ragsite.http.openapi.field_types import EventStream

from .error_rendering import ErrorHandler

_Result = TypeVar("_Result", contravariant=True)


class EventFormat(Protocol[_Result]):
    """How a contract writes the events of one streamed answer."""

    def render(self, event: Retrieval | str) -> bytes:
        """Render the retrieval, or a part of the text."""

    def render_result(self, result: _Result) -> bytes:
        """Render the end of the stream."""

    def render_error(self, body: object) -> bytes:
        """Render the end of a stream that an error ends; `body` is the contract's error body."""


class TokenData(TypedDict):
    """The next part of an answer's text."""

    text: str


def described_stream(name: str, *, sources: object, result: object) -> EventStream:
    """Return the description of a stream for the OpenAPI schema. Its error is the contract's error body."""
    return EventStream(name, {"sources": sources, "token": TokenData, "done": result, "error": None})


# An example stream for the OpenAPI schema.
EXAMPLE_STREAM = (
    'event: sources\ndata: {…}\n\nevent: token\ndata: {"text":"The"}\n\nevent: token\ndata: {"text":" answer"}\n\n'
    "event: done\ndata: {…}\n\n"
)

logger = structlog.get_logger(__name__)


def stream(
    events: AnswerEvents[Result],
    *,
    render_sources: Callable[[Retrieval], object],
    render_result: Callable[[Result], object],
    on_error: ErrorHandler,
) -> StreamingHttpResponse:
    """Stream an answer while it is generated.

    An error before the first event is raised, so that it gets its HTTP status. An error after that is the last event
    of the stream, with the contract's error body.

    Args:
        events: The answer's events: the retrieval or a part of the text first, and the result last.
        render_sources: Renders the retrieval in the contract's format.
        render_result: Renders the complete answer in the contract's format.
        on_error: The contract's exception handler.

    Raises:
        TooManyLongRequests: If the account has too many streams, or requests that wait for a model.
    """
    return stream_as(_NamedEvents(render_sources, render_result), events, on_error=on_error)


def stream_as(
    event_format: EventFormat[Result], events: AnswerEvents[Result], *, on_error: ErrorHandler
) -> StreamingHttpResponse:
    """Stream an answer as `stream` does, in another format.

    Raises:
        TooManyLongRequests: If the account has too many streams, or requests that wait for a model.
    """
    with contextlib.ExitStack() as stack:
        stack.callback(events.close)  # stops the language model if the client has disconnected
        stack.enter_context(LONG_REQUESTS.admit())
        first = next(events)
        content = _Stream(_stream_events(first, events, event_format, on_error), stack.pop_all())
    response = StreamingHttpResponse(content, content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"  # stops nginx from buffering
    return response


class _Stream:
    """The content of a response. Django closes it, even if the client left before the first event was sent."""

    def __init__(self, content: Generator[bytes, None, None], resources: contextlib.ExitStack) -> None:
        self._content, self._resources = content, resources

    def __iter__(self) -> Iterator[bytes]:
        return self._content

    def close(self) -> None:
        self._content.close()
        self._resources.close()


class _NamedEvents(EventFormat[Result]):
    """The event format of ragsite's own contracts: sources, token, done, error."""

    def __init__(
        self, render_sources: Callable[[Retrieval], object], render_result: Callable[[Result], object]
    ) -> None:
        self._render_sources, self._render_result = render_sources, render_result

    def render(self, event: Retrieval | str) -> bytes:
        if isinstance(event, str):
            return _format_event("token", {"text": event})
        return _format_event("sources", self._render_sources(event))

    def render_result(self, result: Result) -> bytes:
        return _format_event("done", self._render_result(result))

    def render_error(self, body: object) -> bytes:
        return _format_event("error", body)


def _stream_events(
    first: Retrieval | str,
    events: AnswerEvents[Result],
    event_format: EventFormat[Result],
    on_error: ErrorHandler,
) -> Generator[bytes, None, None]:
    connection.close()  # do not hold a database connection while the language model generates
    try:
        yield _render_event(first, event_format)
        result = yield from _stream_rest(events, event_format)
        yield event_format.render_result(result)
    except Exception as error:
        yield event_format.render_error(_error_body(error, on_error))
    finally:
        events.close()
        connection.close()


def _stream_rest(events: AnswerEvents[Result], event_format: EventFormat[Result]) -> Generator[bytes, None, Result]:
    while True:
        try:
            event = next(events)
        except StopIteration as end:
            result: Result = end.value
            return result
        finally:
            connection.close()  # generating checked access again; release the connection until the next check
        yield _render_event(event, event_format)


def _render_event(event: Retrieval | str, event_format: EventFormat[Result]) -> bytes:
    # An empty text means that KEEP_ALIVE_SECONDS went by without one (rag.providers.language_models.stoppable_stream).
    # A comment keeps proxies from timing out, and reveals a client that has disconnected.
    if event == "":
        return b": waiting\n\n"
    return event_format.render(event)


def _format_event(name: str, data: object) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), render_line(data))


def _error_body(error: Exception, on_error: ErrorHandler) -> object:
    response = on_error(error, {})
    if response is None:  # an unexpected exception: log it; the client gets the request id
        logger.exception("stream_failed")
        response = on_error(APIException("Something went wrong on this side."), {})
    return response.data if response is not None else None
