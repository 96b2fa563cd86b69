"""Rights that end while a request writes: the database refuses the rows, which is no internal error."""

from collections.abc import Callable
from typing import Any

import pytest

from orgs.models import Membership
from rag.models import DataSource, Document, IngestionJob
from rag.pipeline.ingestion import index
from rag.services.jobs import submit
from ragsite.postgres import identity
from tests.support.factories import World
from tests.support.http import Client

ONE = {"source": "library", "path": "a", "title": "A", "text": "Zebras."}
JOB = {"dataSourceId": "library", "documents": [{"path": "a", "text": "Zebras."}]}


@pytest.mark.parametrize(
    ("body", "module", "name"),
    [(ONE, index, "_write"), (JOB, submit, "new_revisions")],
    ids=["one document", "a job"],
)
def test_an_ingestion_whose_right_ends_is_refused(
    local_api: Callable[..., Client],
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    body: dict[str, Any],
    module: Any,
    name: str,
) -> None:
    step, source = getattr(module, name), world.source()

    def end_right_before(*arguments: Any, **options: Any) -> Any:
        with identity.run_as(identity.STAFF):
            Membership.objects.filter(user=world.users["editor"]).update(is_active=False)
        return step(*arguments, **options)

    monkeypatch.setattr(module, name, end_right_before)
    reply = local_api("editor").post("/api/rag/ingest", body)
    assert (reply.status, "access ended" in reply.body["message"]) == (403, True)
    assert DataSource.objects.filter(pk=source.pk).exists()
    assert not Document.objects.exists()
    assert not IngestionJob.objects.exists()
