"""The logs contain nothing of questions and documents (docs/operations/monitor.md)."""

import base64
import io
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client as Browser

from accounts.audit.events import AuditEvent
from orgs.access.permissions import QueryHistory
from rag.models import DataSource, EmbeddingModel
from tests.support.factories import World, ingest_text, process_queue
from tests.support.http import Client

OUR_LOGGERS = ("rag", "orgs", "accounts", "ragsite", "django_structlog")
# A word that occurs nowhere else.
MARK = "quillwort"
QUESTION = f"Where does the {MARK} grow?"
NOWHERE = "http://127.0.0.1:9/v1"


@pytest.fixture
def log_text(caplog: pytest.LogCaptureFixture) -> Callable[[], str]:
    """All records: ours from DEBUG, others from INFO as in production, with tracebacks and unformatted attributes."""
    for name in OUR_LOGGERS:
        caplog.set_level(logging.DEBUG, logger=name)
    caplog.set_level(logging.INFO)

    def read() -> str:
        return caplog.text + "".join(str(vars(record)) for record in caplog.records)

    return read


def questions() -> dict[str, dict[str, Any]]:
    """Every path that accepts a question, with a request body."""
    return {
        "/api/rag/search": {"query": QUESTION},
        "/api/rag/search/": {"query_text": QUESTION},
        "/functions/v1/rag-search": {"query_text": QUESTION},
        "/functions/v1/rag-answer": {"query_text": QUESTION},
        "/api/rag/answer": {"query_text": QUESTION},
        "/api/rag/query": {"query": QUESTION},
        "/api/rag/retrieve": {"query": QUESTION},
        "/api/v1/search": {"query": QUESTION},
        "/api/chat": {"messages": [{"role": "user", "content": QUESTION}], "useRag": True},
        "/agent/respond": {"query": QUESTION, "user_selected_text": f"A {MARK} is a fern."},
    }


def test_nothing_of_a_question_or_a_document_is_logged(
    api: Callable[..., Client], live_world: World, log_text: Callable[[], str], settings: Any
) -> None:
    """Whether requests succeed, are rejected or fail."""
    live_world.home.query_history = QueryHistory.REDACTED
    live_world.home.save()
    source, remote = live_world.source(), live_world.source("remote")
    editor = api("editor")
    text = f"The {MARK} grows in the pond."
    job = {
        "dataSourceId": str(source.pk),
        "documents": [
            {"path": "b", "text": text},
            {"path": "c.pdf", "contentBase64": base64.b64encode(f"%PDF-1.7 {text}".encode()).decode()},
            {"path": "d", "text": text, "lang": MARK * 20},
        ],
    }
    ingest_text(remote, "a", text)
    document = {"source": "library", "path": "a", "title": "Ponds", "text": text}
    for body in (document, {**document, "path": ""}):
        editor.post("/api/rag/ingest", body)
    editor.post("/api/rag/ingest", job)
    job["documents"] = job["documents"][:2]
    assert editor.post("/api/rag/ingest", job).status == 202
    assert process_queue() == 2
    for path, body in questions().items():
        assert editor.post(path, body).status == 200, path
        assert editor.post(path, {**body, "top_k": MARK, "topK": MARK, "ragTopK": MARK, "stream": MARK}).status < 500
        assert editor.post(path, f'{{"query": "{MARK}'.encode()).status == 400
        assert editor.post(f"{path}?query={MARK}", {**body, "query": MARK * 500, "query_text": MARK * 500}).status < 500
    settings.LLM_MODEL, settings.LLM_BASE_URL, settings.LLM_API_KEY, settings.LLM_TIMEOUT = "m", NOWHERE, "k", 0.5
    for path in ("/api/rag/query", "/api/chat"):
        assert editor.post(path, questions()[path]).status >= 500, path
    settings.LLM_MODEL, settings.RAG_EMBEDDING_MAX_RETRIES = "", 0
    DataSource.objects.update(
        embedding_model=EmbeddingModel.objects.create(name="gone", provider="openai", dimensions=384, base_url=NOWHERE)
    )
    failed = {path: editor.post(path, body).status for path, body in questions().items()}
    assert all(status >= 500 for status in failed.values()), failed
    assert editor.post("/api/rag/ingest", {**document, "path": "z"}).status == 503
    content = log_text()
    assert "request_finished" in content
    assert "server_error_returned" in content
    assert MARK not in content
    assert MARK not in str(list(AuditEvent.objects.values()))


def test_a_request_for_another_host_is_logged_as_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody can send one: it is no error for operators, and its traceback says nothing."""
    handlers = logging.getLogger("django.security").handlers
    (handler,) = (handler for handler in handlers if handler.name == "refused_requests")
    monkeypatch.setattr(handler, "stream", log := io.StringIO())
    assert Browser().get("/", headers={"Host": "evil.example"}).status_code == 400
    line = json.loads(log.getvalue())
    assert (line["level"], "exception" in line) == ("warning", False)
    assert "evil.example" in line["event"]
