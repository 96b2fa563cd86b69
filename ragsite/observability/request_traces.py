"""Traces of HTTP requests: a middleware that is installed only if traces are on."""

import re
from collections.abc import Callable, Iterator

from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from ragsite.http.request_id import request_id

from . import tracing

_SERVER_ERROR = 500
# What regular expressions of optional slashes add to a path.
_REGEX_SIGNS = re.compile(r"[\^$]|/\?")


class RequestTraceMiddleware:
    """Makes one span of each request; that of a streamed response ends with the stream."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        # Neither a trace of the client nor its query string is taken over.
        span = tracing.start_span(f"{request.method}", SpanKind.SERVER, http__request__method=request.method)
        with tracing.current(span):
            try:
                response = self._get_response(request)
            except Exception as error:
                tracing.end_span(span, error)
                raise
        if span is None:
            return response
        _describe(span, request, response)
        if isinstance(response, StreamingHttpResponse) and not response.is_async:
            response.streaming_content = _stream(span, iter(response))
        else:
            span.end()
        return response


def _describe(span: Span, request: HttpRequest, response: HttpResponseBase) -> None:
    route = f"/{_REGEX_SIGNS.sub('', request.resolver_match.route)}" if request.resolver_match else ""
    span.update_name(f"{request.method} {route}".strip())
    span.set_attributes(
        {"http.route": route, "http.response.status_code": response.status_code, "ragsite.request_id": request_id()}
    )
    if response.status_code >= _SERVER_ERROR:
        span.set_status(Status(StatusCode.ERROR))


def _stream(span: Span, parts: Iterator[object]) -> Iterator[object]:
    """Pass the parts on. The span is the current one only while a part is made."""
    error = None
    try:
        while True:
            with tracing.current(span):
                try:
                    part = next(parts)
                except StopIteration:
                    return
            yield part
    except GeneratorExit:
        raise
    except Exception as failure:
        error = failure
        raise
    finally:
        if close := getattr(parts, "close", None):
            close()
        tracing.end_span(span, error)
