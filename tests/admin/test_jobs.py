"""Ingestion jobs and their documents in the admin: state, errors, retrying."""

import datetime
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from rag.models import DataSource, IngestionDocument, IngestionJob
from rag.services.ingestion import build_submissions, document_outcomes
from rag.services.jobs.create_job import create_job
from rag.types import Submission
from tests.support.browsers import staff_browser
from tests.support.factories import World

State = IngestionDocument.State
DOCUMENTS, JOBS = "/admin/rag/ingestiondocument/", "/admin/rag/ingestionjob/"


def submit_texts(world: World, source: DataSource, *paths: str) -> IngestionJob:
    submissions = [Submission(path=path, title=path, text=f"Secret text of {path}.") for path in paths]
    return create_job(
        source=source,
        submissions=submissions,
        options=build_submissions.default_chunking_options(),
        actor=world.users["editor"],
    )


def fail(job: IngestionJob, path: str, code: str) -> IngestionDocument:
    job.documents.filter(path=path).update(state=State.RUNNING, lease=None)
    row = job.documents.get(path=path)
    document_outcomes.record_failure(row, code, f"It failed of {code}.")
    return row


@pytest.fixture
def owner(world: World) -> Client:
    return staff_browser(world.users["owner"])


def page(client: Client, url: str) -> str:
    reply = client.get(url)
    assert reply.status_code == 200, url
    return str(reply.content.decode())


def test_documents_are_filtered_by_state_error_condition_job_and_path(world: World, owner: Client) -> None:
    job = submit_texts(world, world.source(), "alpha.md", "beta.md", "gamma.md")
    other = submit_texts(world, world.source("other"), "delta.md")
    fail(job, "alpha.md", "PARSE_ERROR")
    for query, expected in (
        ("", ["alpha", "beta", "gamma", "delta"]),
        ("?state__exact=failed", ["alpha"]),
        ("?code=PARSE_ERROR", ["alpha"]),
        ("?code=INDEX_FULL", []),
        ("?condition=queued", ["beta", "gamma", "delta"]),
        (f"?job={other.pk}", ["delta"]),
        (f"?source__id__exact={other.source_id}", ["delta"]),
        ("?q=gamma", ["gamma"]),
    ):
        text = page(owner, DOCUMENTS + query)
        assert [name for name in ("alpha", "beta", "gamma", "delta") if f">{name}.md<" in text] == expected, query
    assert owner.get(f"{DOCUMENTS}?job=nonsense").status_code == 302


def test_a_documents_page_shows_error_and_advice_but_no_content(world: World, owner: Client) -> None:
    job = submit_texts(world, world.source(), "alpha.md")
    row = fail(job, "alpha.md", "PARSE_ERROR")
    timings = {"parsing": 12, "embedding": 3400, "indexing": 95_000}
    IngestionDocument.objects.update(timings=timings)
    text = page(owner, f"{DOCUMENTS}{row.pk}/change/")
    assert "parsing 12 ms, embedding 3.4 s, indexing 1 min 35 s" in text
    assert "It failed of PARSE_ERROR." in text
    assert "otherwise retry it" in text
    assert f"{JOBS}{job.pk}/change/" in text
    for url in (f"{DOCUMENTS}{row.pk}/change/", f"{JOBS}{job.pk}/change/", DOCUMENTS, f"{DOCUMENTS}?q=secret"):
        assert "Secret text" not in page(owner, url)


def test_a_jobs_page_groups_errors_and_links_to_documents(world: World, owner: Client) -> None:
    job = submit_texts(world, world.source(), "a", "b", "c", "d")
    for path, code in (("a", "PARSE_ERROR"), ("b", "PARSE_ERROR"), ("c", "INDEX_FULL")):
        fail(job, path, code)
    text = page(owner, f"{JOBS}{job.pk}/change/")
    assert f'{DOCUMENTS}?job={job.pk}&amp;code=PARSE_ERROR">PARSE_ERROR</a>: 2' in text
    assert 'code=INDEX_FULL">INDEX_FULL</a>: 1' in text
    assert f'1 <a href="{DOCUMENTS}?job={job.pk}&amp;condition=queued">queued</a>.' in text
    assert str(job.pk) in page(owner, f"{JOBS}?condition=queued")
    assert str(job.pk) not in page(owner, f"{JOBS}?condition=running")


def test_failed_documents_are_retried_by_job_and_individually(world: World, owner: Client) -> None:
    job = submit_texts(world, world.source(), "a", "b", "c")
    rows = [fail(job, path, "INTERNAL_ERROR") for path in ("a", "b", "c")]
    IngestionDocument.objects.filter(pk=rows[2].pk).update(text="")
    one = {"action": "retry", "_selected_action": [rows[0].pk]}
    assert "Queued again: 1 document." in owner.post(DOCUMENTS, one, follow=True).content.decode()
    assert job.documents.filter(state=State.QUEUED).count() == 1
    all_of_job = {"action": "retry", "_selected_action": [job.pk]}
    content = owner.post(JOBS, all_of_job, follow=True).content.decode()
    assert "Queued again: 1 document." in content
    assert "Not queued: 1 document." in content
    assert job.documents.filter(state=State.QUEUED).count() == 2


def test_a_sign_in_after_a_button_of_a_job_leads_to_its_page(world: World, owner: Client) -> None:
    job = submit_texts(world, world.source(), "a")
    reply = owner.get(f"{JOBS}{job.pk}/cancel/")  # where the sign-in leads
    assert reply.headers["Location"] == f"{JOBS}{job.pk}/change/"
    assert job.documents.filter(state=State.QUEUED).exists()


def test_documents_of_another_organisation_are_neither_shown_nor_retried(world: World, owner: Client) -> None:
    foreign = world.source("foreign", organization=world.abroad, owner=world.users["foreigner"])
    job = submit_texts(world, foreign, "foreign-file")
    row = fail(job, "foreign-file", "PARSE_ERROR")
    for query in ("", f"?job={job.pk}", "?code=PARSE_ERROR", "?q=foreign-file"):
        assert ">foreign-file<" not in page(owner, DOCUMENTS + query)
    assert owner.get(f"{DOCUMENTS}{row.pk}/change/").status_code == 302
    owner.post(DOCUMENTS, {"action": "retry", "_selected_action": [row.pk]})
    row.refresh_from_db()
    assert row.state == State.FAILED
    assert staff_browser(world.users["editor"]).get(DOCUMENTS).status_code == 403


def test_pages_warn_if_no_worker_processes_documents(world: World, owner: Client) -> None:
    job = submit_texts(world, world.source(), "a")
    warning, advice = "no worker has claimed any", "Start a worker for the queue ingestion."
    assert warning not in page(owner, JOBS)
    IngestionDocument.objects.update(queued_at=timezone.now() - datetime.timedelta(hours=1))
    row: Any = job.documents.get()
    for url in (JOBS, DOCUMENTS):
        assert f"{warning} for a while. {advice}" in page(owner, url), url
    for url in (f"{JOBS}{job.pk}/change/", f"{DOCUMENTS}{row.pk}/change/"):
        assert advice in page(owner, url), url
    assert warning not in page(staff_browser(world.users["admin"]), "/admin/rag/document/")


@pytest.mark.parametrize("query", ["status__exact=%00", "source__id__exact=x", "q=%00", "p=-1", "o=x"])
def test_invalid_query_parameters_are_no_server_error(owner: Client, query: str) -> None:
    assert owner.get(f"{JOBS}?{query}").status_code in (200, 302, 400)


def test_managers_of_a_source_cancel_its_jobs(world: World, owner: Client, foreign: DataSource) -> None:
    job = submit_texts(world, world.source("domestic"), "a")
    both = {"action": "cancel", "_selected_action": [job.pk, foreign.jobs.get().pk]}
    for message in ("Cancelled: 1. Already finished: 0.", "Cancelled: 0. Already finished: 1."):
        assert message in owner.post(JOBS, both, follow=True).content.decode()
    job.refresh_from_db()
    assert (job.status, job.documents.get().state) == ("cancelled", "cancelled")
    assert foreign.jobs.get().status == "queued"


def test_open_documents_are_counted_in_the_language_of_the_page(world: World, owner: Client) -> None:
    job = submit_texts(world, world.source(), "alpha.md", "beta.md")
    reply = owner.get(f"{JOBS}{job.pk}/change/", HTTP_ACCEPT_LANGUAGE="de")
    assert ">wartend</a>" in reply.content.decode()
