"""OpenTelemetry traces: one from HTTP through Celery and SQL to the model, without texts unless allowed."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test import Client, override_settings
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from rag.tasks import ingest_documents
from ragsite.celery import add_publication_time
from ragsite.observability import tracing
from tests.support.factories import World, ingest_text
from tests.support.servers.provider_server import ProviderServer

QUESTION = "What do the stripes of zebras confuse?"
MIDDLEWARE = "ragsite.observability.request_traces.RequestTraceMiddleware"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """Collects the spans of this process, with traces on."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(tracing, "_tracer", lambda: provider.get_tracer("tests"))
    tracing.trace_connection(connection)
    with override_settings(MIDDLEWARE=[MIDDLEWARE, *django_settings.MIDDLEWARE]):
        yield exporter
    connection.execute_wrappers.remove(tracing.trace_statement)


def ask(world: World) -> None:
    ingest_text(world.source(), "zebra.txt", "Zebras have stripes. The stripes of zebras confuse flies.")
    key = world.key("member").secret
    reply = Client().post(
        "/api/rag/query?password=hidden",
        {"query": QUESTION},
        content_type="application/json",
        headers={"Authorization": f"Bearer {key}"},
    )
    assert reply.status_code == 200, reply.content


def as_text(spans: tuple[ReadableSpan, ...]) -> str:
    return "".join(span.to_json() for span in spans).lower()


def test_a_question_is_one_trace_from_http_to_sql_and_the_model(
    world: World, language_model: ProviderServer, spans: InMemorySpanExporter
) -> None:
    ask(world)
    finished = spans.get_finished_spans()
    (request,) = [span for span in finished if span.kind.name == "SERVER"]
    trace = [span for span in finished if span.context.trace_id == request.context.trace_id]
    assert (request.attributes or {})["http.response.status_code"] == 200
    assert request.parent is None
    assert request.name == "POST /api/rag/query"
    names = {span.name for span in trace}
    assert {"SELECT", "embed", "search", "ground", "generate", "chat test-model"} <= names
    (model,) = [span for span in trace if span.name == "chat test-model"]
    assert (model.attributes or {})["gen_ai.operation.name"] == "chat"
    assert (model.attributes or {})["gen_ai.request.model"] == "test-model"
    assert model.end_time is not None
    for word in ("zebra", "stripes", "hidden", "secret"):
        assert word not in as_text(finished), word


def test_texts_are_part_of_a_trace_only_if_allowed(
    world: World, language_model: ProviderServer, spans: InMemorySpanExporter, settings: Any
) -> None:
    settings.RAG_TRACES_CONTENT = True
    ask(world)
    (model,) = [span for span in spans.get_finished_spans() if span.name == "chat test-model"]
    assert QUESTION in json.dumps((model.attributes or {})["gen_ai.input.messages"])


@pytest.mark.django_db
def test_a_task_continues_the_trace_of_the_code_that_sent_it(spans: InMemorySpanExporter) -> None:
    headers: dict[str, Any] = {}
    with tracing.span("request") as request, tracing.current(request):
        add_publication_time(headers=headers)
    ingest_documents.apply(args=(1,), headers=headers)
    by_name = {span.name: span for span in spans.get_finished_spans()}
    task = by_name["process rag.ingest_documents"]
    assert task.context.trace_id == by_name["request"].context.trace_id
    assert task.parent is not None
    assert task.parent.span_id == by_name["request"].context.span_id
    statements = [span for span in spans.get_finished_spans() if "db.system.name" in (span.attributes or {})]
    assert {span.context.trace_id for span in statements} == {task.context.trace_id}


def test_an_error_is_its_class_without_its_message(spans: InMemorySpanExporter) -> None:
    def fail() -> None:
        with tracing.span("work"):
            raise ValueError("the text of a question")

    with pytest.raises(ValueError, match="question"):
        fail()
    (span,) = spans.get_finished_spans()
    assert (span.attributes or {})["error.type"] == "ValueError"
    assert "question" not in as_text((span,))


def test_traces_are_off_by_default() -> None:
    """Without traces, neither the middleware nor what sends spans is loaded."""
    assert not tracing.is_enabled()
    assert MIDDLEWARE not in django_settings.MIDDLEWARE
    script = (
        "import ragsite.wsgi, sys; print([name for name in sys.modules if name.startswith('opentelemetry.exporter')])"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"
