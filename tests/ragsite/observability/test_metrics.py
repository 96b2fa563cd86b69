"""GET /metrics: its content, and who may read it."""

from typing import Any

import pytest
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from rag.models import Document
from rag.services.ingestion import build_submissions
from rag.services.jobs.create_job import create_job
from rag.services.operations.measurements import recording
from rag.services.operations.metrics import organization_gauges
from rag.types import Submission
from ragsite.observability import measurement_buffer
from tests.parsing.files import pictures
from tests.services.jobs.uploading import send, upload
from tests.support.browsers import staff_browser
from tests.support.factories import World, ingest_text


def read(client: Client, **headers: str) -> dict[tuple[str, str], float]:
    reply = client.get("/metrics", headers=headers)
    assert reply.status_code == 200
    assert reply.headers["Content-Type"].startswith("text/plain")
    families = list(text_string_to_metric_families(reply.content.decode()))
    return {
        (sample.name, next(iter(sample.labels.values()), "")): sample.value
        for family in families
        for sample in family.samples
    }


def test_services_jobs_and_documents_are_reported(world: World, client: Client) -> None:
    before = read(client)
    for component in ("database", "broker", "vector_index", "embedding_model"):
        assert before["ragsite_up", component] == 1
    assert before["ragsite_open_documents", "queued"] == before["ragsite_oldest_open_document_seconds", ""] == 0
    submissions = [Submission(path=path, title=path, text="Zebras.") for path in "ab"]
    options = build_submissions.default_chunking_options()
    create_job(source=world.source(), submissions=submissions, options=options, actor=world.users["editor"])
    after = read(client)
    assert after["ragsite_open_jobs", "queued"] == 1
    assert after["ragsite_open_documents", "queued"] == 2
    assert after["ragsite_oldest_open_document_seconds", ""] > 0
    assert ("ragsite_queue_messages", "") in after


def test_recognised_pages_and_their_seconds_are_reported(world: World, client: Client) -> None:
    measurement_buffer.take()
    scans = pictures.encoded(*[pictures.page(["Bees hum."])] * 2, kind="TIFF")
    send(world, world.source(), upload("a.tiff", scans), upload("b.txt", b"Zebras."))
    recording.store_measurements()
    reported = read(client)
    assert reported["ragsite_ocr_page_seconds_count", "built-in"] == 2
    document = Document.objects.get(path="a.tiff")
    assert (document.recognized_pages, Document.objects.get(path="b.txt").recognized_pages) == (2, 0)
    assert reported["ragsite_ocr_page_seconds_sum", "built-in"] == pytest.approx(document.recognition_seconds)
    assert ("ragsite_ocr_page_failures_total", "built-in") not in reported
    page = staff_browser(world.users["owner"]).get(f"/admin/rag/document/{document.pk}/change/").content.decode()
    assert f"2 pages, {document.recognition_seconds:.1f} s" in page


@pytest.mark.django_db
def test_a_configured_token_is_required(client: Client, settings: Any) -> None:
    settings.RAG_METRICS_TOKEN = "scrape-secret"
    for header in ({}, {"authorization": "Bearer wrong"}, {"authorization": "scrape-secret"}):
        refused = client.get("/metrics", headers=header)
        assert (refused.status_code, refused.json()["error"]) == (401, "Unauthorized")
        assert refused.headers["WWW-Authenticate"].startswith("Bearer")
    assert read(client, authorization="Bearer scrape-secret")
    assert (
        client.get("/metrics/", headers={"authorization": "Bearer scrape-secret"}, REMOTE_ADDR="192.0.2.1").status_code
        == 200
    )


@pytest.mark.django_db
def test_without_a_token_a_local_start_lets_this_machine_read(client: Client, settings: Any) -> None:
    settings.RAG_LOCAL = True
    assert client.get("/metrics", REMOTE_ADDR="::1").status_code == 200
    assert client.get("/metrics", REMOTE_ADDR="192.0.2.1").status_code == 401
    for name in ("x-forwarded-for", "x-forwarded-proto", "forwarded"):
        assert client.get("/metrics", headers={name: "x"}).status_code == 401, (
            "all requests through a proxy come from this machine"
        )
    settings.RAG_LOCAL = False
    assert client.get("/metrics", REMOTE_ADDR="127.0.0.1").status_code == 401, "a server's programs are local too"


def test_storage_is_reported_for_the_largest_organisations(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only for the largest, so that ten thousand organisations do not make ten thousand series."""
    ingest_text(world.source(), "a", "Zebras.")
    world.home.max_bytes = 1000
    world.home.save()
    for number in range(2):
        ingest_text(world.source(f"abroad-{number}", organization=world.abroad), "a", "Lions.")
    metric_values = read(client)
    assert metric_values["ragsite_organization_chunks", "abroad"] == 2
    assert metric_values["ragsite_organization_bytes", "home"] == 7
    assert metric_values["ragsite_organization_max_bytes", "home"] == 1000
    assert ("ragsite_organization_max_bytes", "abroad") not in metric_values
    monkeypatch.setattr(organization_gauges, "_MAX_ORGANIZATIONS", 1)
    metric_values = read(client)
    assert [label for name, label in metric_values if name == "ragsite_organization_chunks"] == ["abroad"]
