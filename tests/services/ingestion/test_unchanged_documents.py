"""Documents with new metadata and the same content: a worker saves the metadata, for all of a claim together."""

from django.db import connection
from django.test.utils import CaptureQueriesContext

from orgs.access.caller import Caller
from rag.models import DataSource, Document, IngestionDocument, IngestionJob
from rag.models.content.pgvector_tables import Embedding384
from rag.services.ingestion import document_processing
from rag.services.ingestion.queue import claims
from rag.services.jobs.close_and_cancel import cancel_job
from rag.types import ChunkingOptions
from tests.support.factories import World, process_queue
from tests.support.submissions import TEXTS, outcomes, submit

State, Outcome = IngestionDocument.State, IngestionDocument.Outcome


def statements(world: World, source: DataSource, count: int) -> int:
    """How many statements process so many unchanged documents with new metadata."""
    texts = {f"{count}-{number}": f"Zebra {number}." for number in range(count)}
    submit(world, source, texts)
    process_queue(at_once=count)
    job = submit(world, source, texts, title="New", tags=("new",), lang="de")
    with CaptureQueriesContext(connection) as queries:
        assert process_queue(at_once=count) == count
    assert set(outcomes(job).values()) == {Outcome.UNCHANGED}
    return len(queries)


def test_the_number_of_statements_does_not_grow_with_the_documents(world: World) -> None:
    source = world.source()
    few = statements(world, source, 2)
    assert statements(world, source, 24) <= few


def test_new_metadata_is_saved_for_each_document(world: World) -> None:
    source = world.source()
    submit(world, source, TEXTS)
    process_queue()
    jobs = [submit(world, source, {path: text}, tags=(path,), uri=f"https://{path}") for path, text in TEXTS.items()]
    assert process_queue() == 3
    assert [outcomes(job) for job in jobs] == [{path: Outcome.UNCHANGED} for path in TEXTS]
    expected = [("a", ["a"], "https://a"), ("b", ["b"], "https://b"), ("c", ["c"], "https://c")]
    assert list(Document.objects.order_by("path").values_list("path", "tags", "uri")) == expected
    vectors = Embedding384.objects.order_by("document__path")
    assert list(vectors.values_list("document__path", "tags")) == [("a", ["a"]), ("b", ["b"]), ("c", ["c"])]
    assert {job.pk: job.status for job in IngestionJob.objects.all()}.items() >= {
        (job.pk, IngestionJob.Status.COMPLETED) for job in jobs
    }


def test_documents_are_compared_with_the_options_of_their_own_job(world: World) -> None:
    source = world.source()
    submit(world, source, TEXTS)
    process_queue()
    same = submit(world, source, {"a": TEXTS["a"], "b": "Delta."}, uri="https://new")
    other = submit(world, source, {"c": TEXTS["c"]}, options=ChunkingOptions(64, 0))
    assert process_queue() == 3
    assert outcomes(same) == {"a": Outcome.UNCHANGED, "b": Outcome.UPDATED}
    assert outcomes(other) == {"c": Outcome.UPDATED}


def test_a_cancelled_document_does_not_keep_the_others_from_being_finished(world: World) -> None:
    source = world.source()
    submit(world, source, TEXTS)
    process_queue()
    cancelled = submit(world, source, {"a": TEXTS["a"]}, tags=("new",))
    active = submit(world, source, {"b": TEXTS["b"], "c": "Delta."}, tags=("new",))
    rows = claims.claim_next(8)
    assert len(rows) == 3
    cancel_job(Caller(world.users["owner"]), cancelled.pk)
    document_processing.process_documents(rows)
    assert dict(Document.objects.values_list("path", "tags")) == {"a": [], "b": ["new"], "c": ["new"]}
    assert outcomes(active) == {"b": Outcome.UNCHANGED, "c": Outcome.UPDATED}
    assert set(cancelled.documents.values_list("state", flat=True)) == {State.CANCELLED}


def test_a_path_that_is_sent_twice_gets_the_later_content(world: World) -> None:
    source = world.source()
    submit(world, source, {"a": "Alpha."})
    process_queue()
    later = [submit(world, source, {"a": text}) for text in ("Beta, beta.", "Alpha.")]
    process_queue()
    assert Document.objects.get().text == "Alpha."
    assert not IngestionDocument.objects.filter(job__in=later).exclude(state=State.DONE).exists()
