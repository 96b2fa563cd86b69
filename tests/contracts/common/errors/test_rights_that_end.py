"""Rights that end while a request writes: the database refuses the rows, which is no internal error."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from orgs.api_keys import key_lifecycle
from orgs.models import ApiKey, Membership
from rag.models import DataSource, Document, IngestionJob
from rag.pipeline.ingestion import index
from rag.services.jobs import create_job
from rag.services.sources import documents
from ragsite.postgres import identity
from tests.support.factories import World
from tests.support.http import Client

ONE = {"source": "library", "path": "a", "title": "A", "text": "Zebras."}
JOB = {"dataSourceId": "library", "documents": [{"path": "a", "text": "Zebras."}]}


KEY = {"name": "k", "scopes": ["query"]}


@pytest.mark.parametrize(
    ("request_line", "body", "module", "name"),
    [
        ("POST /api/rag/ingest", ONE, index, "_write"),
        ("POST /api/rag/ingest", JOB, create_job, "new_revisions"),
        ("DELETE /api/rag/sources/library", None, documents, "get_storage_totals"),
        ("POST /api/auth/keys", KEY, key_lifecycle, "_delete_oldest_ended_keys"),
    ],
    ids=["one document", "a job", "a deletion", "a key"],
)
def test_a_request_whose_right_ends_is_refused(
    local_api: Callable[..., Client],
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    request_line: str,
    body: dict[str, Any] | None,
    module: Any,
    name: str,
) -> None:
    step, (method, path) = getattr(module, name), request_line.split()
    source = world.source(owner=world.users["admin"])

    def end_right_before(*arguments: Any, **options: Any) -> Any:
        with identity.run_as(identity.STAFF):
            Membership.objects.filter(user=world.users["admin"]).update(is_active=False)
        return step(*arguments, **options)

    monkeypatch.setattr(module, name, end_right_before)
    reply = local_api("admin").send(method, path, json.dumps(body).encode() if body else None)
    assert (reply.status, "access ended" in reply.body["message"]) == (403, True)
    assert DataSource.objects.filter(pk=source.pk, deleted_at=None).exists()
    assert not any(model.objects.exists() for model in (Document, IngestionJob, ApiKey))
