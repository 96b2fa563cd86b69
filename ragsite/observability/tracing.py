"""OpenTelemetry traces, off unless RAG_TRACES_ENDPOINT is set: requests, tasks, statements and calls of models.

A span is not the current one while its generator is suspended, because a generator may be closed in another context.
No span contains the text of a question, a document or an answer, unless RAG_TRACES_CONTENT allows it.
"""

import contextlib
import functools
import json
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextvars import Token
from typing import TypeAlias, TypeVar

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db.backends.base.base import BaseDatabaseWrapper
from opentelemetry import context, propagate, trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.util.types import AttributeValue

# Longer contents are cut, so that a span stays small.
_MAX_CONTENT = 20_000


@functools.cache
def _tracer() -> Tracer | None:
    """Return the tracer of this process; None if traces are off."""
    if not settings.RAG_TRACES_ENDPOINT:
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        message = "RAG_TRACES_ENDPOINT needs more packages: pip install -r requirements-traces.txt -c constraints.txt"
        raise ImproperlyConfigured(message) from error
    # Which requests are traced is said by the variables of OpenTelemetry: OTEL_TRACES_SAMPLER and its argument.
    provider = TracerProvider(resource=Resource.create({"service.name": "ragsite"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=settings.RAG_TRACES_ENDPOINT)))
    return provider.get_tracer("ragsite")


def is_enabled() -> bool:
    return _tracer() is not None


def start_span(name: str, kind: SpanKind = SpanKind.INTERNAL, **attributes: AttributeValue | None) -> Span | None:
    """Start a span below the current one, without making it the current one; None if traces are off."""
    if (tracer := _tracer()) is None:
        return None
    return tracer.start_span(name, kind=kind, attributes=_dotted(attributes))


@contextlib.contextmanager
def span(name: str, kind: SpanKind = SpanKind.INTERNAL, **attributes: AttributeValue | None) -> Iterator[Span | None]:
    """Measure the block as a span. `__` in the name of an attribute stands for a dot."""
    started = start_span(name, kind, **attributes)
    try:
        yield started
    except GeneratorExit:
        raise
    except Exception as error:
        end_span(started, error)
        started = None
        raise
    finally:
        end_span(started)


def end_span(started: Span | None, error: BaseException | None = None) -> None:
    """End the span. Of an error only the class is kept: its message may quote a text."""
    if started is None:
        return
    if error is not None:
        started.set_attribute("error.type", type(error).__name__)
        started.set_status(Status(StatusCode.ERROR))
    started.end()


@contextlib.contextmanager
def current(started: Span | None) -> Iterator[None]:
    """Start the spans of the block below this one."""
    if started is None:
        yield
        return
    token = context.attach(trace.set_span_in_context(started))
    try:
        yield
    finally:
        context.detach(token)


def add_content(started: Span | None, name: str, value: object) -> None:
    """Add a text as an attribute, if RAG_TRACES_CONTENT allows it."""
    if started is not None and settings.RAG_TRACES_CONTENT:
        started.set_attribute(name, json.dumps(value, ensure_ascii=False)[:_MAX_CONTENT])


def inject(headers: MutableMapping[str, object]) -> None:
    """Add the current trace to the headers of a message."""
    if is_enabled():
        propagate.inject(headers)


Result = TypeVar("Result")
# A span, and what makes the previous one the current one again.
StartedTask: TypeAlias = tuple[Span, Token[Context]]


def start_task(name: str, *, traceparent: str) -> StartedTask | None:
    """Start the span of a task in the trace of the code that sent its message, and make it the current one.

    Args:
        name: The name of the task.
        traceparent: The header that `inject` added to the message; empty if it has none.

    Returns:
        What `end_task` needs; None if traces are off or the message belongs to none, as those of scheduled tasks.
    """
    if (tracer := _tracer()) is None or not traceparent:
        return None
    parent = propagate.extract({"traceparent": traceparent})
    started = tracer.start_span(
        f"process {name}", context=parent, kind=SpanKind.CONSUMER, attributes={"messaging.operation.name": name}
    )
    return started, context.attach(trace.set_span_in_context(started))


def end_task(task: StartedTask | None, error: BaseException | None) -> None:
    """End what `start_task` started."""
    if task is not None:
        context.detach(task[1])
        end_span(task[0], error)


def trace_statement(
    execute: Callable[..., Result], sql: str, params: object, many: bool, info: Mapping[str, object]
) -> Result:
    """Measure a statement that belongs to a trace: its kind, without its text and values (a wrapper of Django)."""
    if not trace.get_current_span().is_recording():
        return execute(sql, params, many, info)
    operation = str(sql).lstrip(" (\n").split(maxsplit=1)[0].upper()[:20]
    with span(operation, SpanKind.CLIENT, db__system__name="postgresql", db__operation__name=operation):
        return execute(sql, params, many, info)


def trace_connection(connection: BaseDatabaseWrapper, **_: object) -> None:
    """Trace the statements of a new connection (a receiver of Django's signal)."""
    if is_enabled() and trace_statement not in connection.execute_wrappers:
        connection.execute_wrappers.append(trace_statement)


def _dotted(attributes: Mapping[str, AttributeValue | None]) -> dict[str, AttributeValue]:
    return {key.replace("__", "."): value for key, value in attributes.items() if value not in (None, "")}
