"""Parsing stored documents again."""

from typing import Any

from orgs.access.caller import Caller
from rag.models import Document, Original
from rag.services.ingestion import synchronous_ingestion
from rag.services.jobs import reparsing
from rag.services.jobs.create_job import create_job
from rag.services.sources import documents as documents_service
from rag.types import Submission
from tests.services.jobs.uploading import OPTIONS, purge_unused_files, send, upload
from tests.support import factories
from tests.support.factories import World


def test_documents_are_reparsed_from_what_is_stored(world: World, settings: Any) -> None:
    source = world.source()
    send(world, source, upload("a.md", b"Zebras. " * 200, tags=("x",), source_type="faq"))
    synchronous_ingestion.ingest_now(source=source, submission=Submission(path="b", title="B", text="Lions."))
    before = {document.path: document for document in Document.objects.all()}
    settings.RAG_CHUNK_TOKENS = 64
    assert reparsing.reparse_documents(Caller(world.users["member"]), Document.objects.all()) == []
    (job,) = reparsing.reparse_documents(Caller(world.users["editor"]), Document.objects.all())
    factories.process_documents(ids=list(job.documents.values_list("pk", flat=True)))
    assert set(job.documents.values_list("outcome", flat=True)) == {"updated"}, "although nothing has changed"
    after = {document.path: document for document in Document.objects.all()}
    assert after["a.md"].chunk_count > before["a.md"].chunk_count
    for path, document in before.items():
        for field in ("pk", "text", "original", "content_hash", "source_type", "tags", "content_type", "title"):
            assert getattr(after[path], field) == getattr(document, field), field
    purge_unused_files()
    assert Original.objects.count() == 1


def test_reparsing_does_not_replace_a_newer_version_in_the_queue(world: World) -> None:
    source = world.source()
    send(world, source, upload("a", b"Alpha."))
    documents = Document.objects.all()
    editor = world.users["editor"]
    create_job(source=source, submissions=[Submission(path="a", title="", text="Beta.")], options=OPTIONS, actor=editor)
    assert reparsing.reparse_documents(Caller(editor), documents) == []
    factories.process_queue()
    assert documents.get().text == "Beta."
    (job,) = reparsing.reparse_documents(Caller(editor), documents)
    documents_service.delete_document(documents.get())
    factories.process_queue()
    assert not Document.objects.live().exists(), "nor does it restore a document that was deleted since"
    assert job.documents.get().outcome == "unchanged"
