"""The figures on the admin's home: correct, linked, and of the viewer's organisations only."""

import re

import pytest
from django.test import Client

from accounts.models import User
from rag.models import DataSource
from rag.services.ingestion import build_submissions
from rag.services.jobs.create_job import create_job
from rag.services.operations.measurements import recording
from rag.types import Submission
from ragsite.observability import measurement_buffer
from tests.support.factories import World, ingest_text

HOME = "/admin/"


def sign_in(client: Client, user: User, *, is_superuser: bool = False) -> str:
    user.is_staff, user.is_superuser = True, is_superuser
    user.save()
    client.force_login(user)
    response = client.get(HOME)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def submit_document(world: World, source: DataSource) -> None:
    options, actor = build_submissions.default_chunking_options(), world.users["owner"]
    create_job(source=source, submissions=[Submission("a", "a", "A.")], options=options, actor=actor)


@pytest.fixture
def two_busy_organizations(world: World) -> World:
    """One document, job and question at home; three documents, two jobs and many failures abroad."""
    measurement_buffer.take()
    at_home, abroad = world.source(), world.source("zoo", organization=world.abroad, owner=world.users["foreigner"])
    ingest_text(at_home, "a", "Zebras.")
    for path in "abc":
        ingest_text(abroad, path, "Lions.")
    for source in (at_home, abroad, abroad):
        submit_document(world, source)
    measurement_buffer.record("operation", "query", 30, organizations=(world.home.pk,))
    for _ in range(977):
        measurement_buffer.record("operation", "query", 30, organizations=(world.abroad.pk,))
        measurement_buffer.record("operation", "document", 30, failed=True, organizations=(world.abroad.pk,))
    recording.store_measurements()
    return world


def test_an_administrator_sees_their_organisation_only(two_busy_organizations: World, client: Client) -> None:
    page = sign_in(client, two_busy_organizations.users["owner"])
    assert "<strong>1</strong> document" in page
    assert "<strong>1</strong> job queued" in page
    assert "Questions per hour: highest 1," in page
    assert "Times are in UTC." in page
    assert "Failed documents per hour" not in page, "nothing failed at home"
    assert "Abroad" not in page
    assert not re.search(r"\b97[78]\b", page)
    assert "/admin/operations" not in page


def test_a_superuser_sees_all_organizations_and_a_link_to_operations(
    two_busy_organizations: World, client: Client
) -> None:
    page = sign_in(client, two_busy_organizations.users["owner"], is_superuser=True)
    assert "<strong>4</strong> documents" in page
    assert "<strong>3</strong> jobs queued" in page
    assert "Questions per hour: highest 978," in page
    assert "Failed documents per hour: highest 977," in page
    assert 'href="/admin/operations"' in page
    for link in ("rag/ingestionjob/?status__exact=queued", "rag/ingestiondocument/?state__exact=failed"):
        assert link in page
        assert client.get(f"{HOME}{link}").status_code == 200


def test_staff_who_manage_nothing_see_no_figures(two_busy_organizations: World, client: Client) -> None:
    page = sign_in(client, two_busy_organizations.users["member"])
    assert "documents</a>" not in page
    assert 'class="chart"' not in page


def test_the_quota_is_shown(world: World, client: Client) -> None:
    world.home.max_chunks = 500
    world.home.save()
    ingest_text(world.source(), "a", "Zebras.")
    page = sign_in(client, world.users["owner"])
    assert "1 of 500" in page
    assert "<meter" in page
    assert "style=" not in page
