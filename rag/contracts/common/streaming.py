"""Server-sent events (WHATWG HTML, 9.2): `sources`, then `token`s, then `done` with the whole body; or `error`."""

from collections.abc import Callable, Generator, Iterator
from typing import Annotated, Any, TypedDict

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


# For the OpenAPI schema: what a stream looks like.
EVENTS = (
    'event: sources\ndata: {…}\n\nevent: token\ndata: {"text":"The"}\n\nevent: token\ndata: {"text":" answer"}\n\n'
    "event: done\ndata: {…}\n\n"
)

logger = structlog.get_logger(__name__)


def stream(
    events: AnswerEvents[Result],
    *,
    sources: Callable[[Retrieval], Any],
    done: Callable[[Result], Any],
    on_error: ErrorHandler,
) -> StreamingHttpResponse:
    """An answer on its way as a response. What goes wrong before its first event is raised, and gets a status of its
    own; later, the contract's error body is the last event.

    sources, done: the contract's bodies for the retrieval and for the whole answer.
    """
    first = next(events)  # every answer has at least one event before its end
    sent = _sent(first, events, sources, done, on_error)
    response = StreamingHttpResponse(sent, content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"  # nginx would keep the words back
    return response


def _sent(
    first: Retrieval | str,
    events: AnswerEvents[Result],
    sources: Callable[[Retrieval], Any],
    done: Callable[[Result], Any],
    on_error: ErrorHandler,
) -> Iterator[bytes]:
    connection.close()  # one that waits for a language model is missing elsewhere
    try:
        yield _rendered(first, sources)
        whole = yield from _rest(events, sources)
        yield _event("done", done(whole))
    except Exception as error:
        yield _event("error", _error_body(error, on_error))
    finally:
        events.close()  # a client that left: the model need not go on
        connection.close()


def _rest(events: AnswerEvents[Result], sources: Callable[[Retrieval], Any]) -> Generator[bytes, None, Result]:
    while True:
        try:
            event = next(events)
        except StopIteration as end:
            return end.value
        finally:
            connection.close()  # access was asked for again; until the next time somebody else may have it
        yield _rendered(event, sources)


def _rendered(event: Retrieval | str, sources: Callable[[Retrieval], Any]) -> bytes:
    if event == "":  # a client that has left is noticed when something is sent to it, and a proxy loses no patience
        return b": waiting\n\n"
    return _event("token", {"text": event}) if isinstance(event, str) else _event("sources", sources(event))


def _event(name: str, data: Any) -> bytes:
    # The renderer escapes line ends inside strings, so that the data is one line.
    return b"event: %s\ndata: %s\n\n" % (name.encode(), JSONRenderer().render(data))


def _error_body(error: Exception, on_error: ErrorHandler) -> Any:
    response = on_error(error, {})
    if response is None:  # not foreseen: the log has it, the client a request id
        logger.exception("stream_errored")
        response = on_error(APIException("Something went wrong on this side."), {})
    return response.data if response is not None else None
