"""Jobs and their documents in the admin: what fares how, why it failed, and trying it again."""

import datetime
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from rag.models import DataSource, IngestionDocument, IngestionJob
from rag.services.ingestion import inputs, outcomes
from rag.services.jobs import submit
from rag.types import Submission
from tests.admin.test_admin import browser
from tests.support.factories import World

State = IngestionDocument.State
DOCUMENTS, JOBS = "/admin/rag/ingestiondocument/", "/admin/rag/ingestionjob/"


def job_of(world: World, source: DataSource, *paths: str) -> IngestionJob:
    submissions = [Submission(path=path, title=path, text=f"Secret text of {path}.") for path in paths]
    return submit.submit_job(
        source=source, submissions=submissions, options=inputs.default_chunking_options(), actor=world.users["editor"]
    )


def fail(job: IngestionJob, path: str, code: str) -> IngestionDocument:
    job.documents.filter(path=path).update(state=State.RUNNING, lease=None)
    row = job.documents.get(path=path)
    outcomes.record_failure(row, code, f"It failed of {code}.")
    return row


@pytest.fixture
def owner(world: World) -> Client:
    return browser(world.users["owner"])


def page(client: Client, address: str) -> str:
    reply = client.get(address)
    assert reply.status_code == 200, address
    return str(reply.content.decode())


def test_documents_are_found_by_state_error_condition_job_and_path(world: World, owner: Client) -> None:
    job = job_of(world, world.source(), "alpha.md", "beta.md", "gamma.md")
    other = job_of(world, world.source("other"), "delta.md")
    fail(job, "alpha.md", "PARSE_ERROR")
    for query, shown in (
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
        assert [name for name in ("alpha", "beta", "gamma", "delta") if f">{name}.md<" in text] == shown, query
    assert owner.get(f"{DOCUMENTS}?job=nonsense").status_code == 302


def test_a_documents_page_says_why_and_what_to_do_and_not_what_was_sent(world: World, owner: Client) -> None:
    job = job_of(world, world.source(), "alpha.md")
    row = fail(job, "alpha.md", "PARSE_ERROR")
    timings = {"parsing": 12, "embedding": 3400, "indexing": 95_000}
    IngestionDocument.objects.update(timings=timings)
    text = page(owner, f"{DOCUMENTS}{row.pk}/change/")
    assert "parsing 12 ms, embedding 3.4 s, indexing 1 min 35 s" in text
    assert "It failed of PARSE_ERROR." in text
    assert "try it again" in text
    assert f"{JOBS}{job.pk}/change/" in text
    for address in (f"{DOCUMENTS}{row.pk}/change/", f"{JOBS}{job.pk}/change/", DOCUMENTS, f"{DOCUMENTS}?q=secret"):
        assert "Secret text" not in page(owner, address)


def test_a_jobs_page_groups_its_errors_and_leads_to_the_documents(world: World, owner: Client) -> None:
    job = job_of(world, world.source(), "a", "b", "c", "d")
    for path, code in (("a", "PARSE_ERROR"), ("b", "PARSE_ERROR"), ("c", "INDEX_FULL")):
        fail(job, path, code)
    text = page(owner, f"{JOBS}{job.pk}/change/")
    assert f'{DOCUMENTS}?job={job.pk}&amp;code=PARSE_ERROR">PARSE_ERROR</a>: 2' in text
    assert 'code=INDEX_FULL">INDEX_FULL</a>: 1' in text
    assert f'1 <a href="{DOCUMENTS}?job={job.pk}&amp;condition=queued">queued</a>.' in text
    assert str(job.pk) in page(owner, f"{JOBS}?condition=queued")
    assert str(job.pk) not in page(owner, f"{JOBS}?condition=running")


def test_failed_documents_are_tried_again_by_job_and_one_by_one(world: World, owner: Client) -> None:
    job = job_of(world, world.source(), "a", "b", "c")
    rows = [fail(job, path, "INTERNAL_ERROR") for path in ("a", "b", "c")]
    IngestionDocument.objects.filter(pk=rows[2].pk).update(text="")
    one = {"action": "retry", "_selected_action": [rows[0].pk]}
    assert "Tried again: 1." in owner.post(DOCUMENTS, one, follow=True).content.decode()
    assert job.documents.filter(state=State.QUEUED).count() == 1
    whole = {"action": "retry", "_selected_action": [job.pk]}
    answer = owner.post(JOBS, whole, follow=True).content.decode()
    assert "Tried again: 1." in answer
    assert "Left as they are: 1." in answer
    assert job.documents.filter(state=State.QUEUED).count() == 2


def test_nothing_of_another_organisation_is_shown_or_tried_again(world: World, owner: Client) -> None:
    foreign = world.source("foreign", organization=world.abroad, owner=world.users["foreigner"])
    job = job_of(world, foreign, "foreign-file")
    row = fail(job, "foreign-file", "PARSE_ERROR")
    for query in ("", f"?job={job.pk}", "?code=PARSE_ERROR", "?q=foreign-file"):
        assert ">foreign-file<" not in page(owner, DOCUMENTS + query)
    assert owner.get(f"{DOCUMENTS}{row.pk}/change/").status_code == 302
    owner.post(DOCUMENTS, {"action": "retry", "_selected_action": [row.pk]})
    row.refresh_from_db()
    assert row.state == State.FAILED
    assert browser(world.users["editor"]).get(DOCUMENTS).status_code == 403


def test_a_page_says_when_no_worker_takes_anything(world: World, owner: Client) -> None:
    job = job_of(world, world.source(), "a")
    warning = "no worker has taken anything"
    assert warning not in page(owner, JOBS)
    IngestionDocument.objects.update(queued_at=timezone.now() - datetime.timedelta(hours=1))
    row: Any = job.documents.get()
    for address in (JOBS, DOCUMENTS, f"{JOBS}{job.pk}/change/", f"{DOCUMENTS}{row.pk}/change/"):
        assert warning in page(owner, address), address
    assert warning not in page(browser(world.users["admin"]), "/admin/rag/document/")
