"""The admin: uploading documents, downloading originals, parsing again."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from orgs.access.permissions import Visibility
from rag.models import DataSource, Document, IngestionJob, Original
from tests.support import factories
from tests.support.browsers import staff_browser
from tests.support.factories import World, ingest_text


def page(source: DataSource) -> str:
    return f"/admin/rag/datasource/{source.pk}/upload/"


def file(name: str = "zebras.md", content: bytes = b"# Zebras\n\nStripes.") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content, "text/markdown")


def process(job: IngestionJob) -> Document:
    factories.process_documents(ids=list(job.documents.values_list("pk", flat=True)))
    return Document.objects.get()


def test_files_are_uploaded_without_script(world: World) -> None:
    source = world.source()
    client = staff_browser(world.users["owner"])
    assert page(source) in client.get(f"/admin/rag/datasource/{source.pk}/change/").content.decode()
    content = client.get(page(source)).content.decode()
    assert "<script>" not in content
    assert 'name="files" multiple required' in content
    reply = client.post(page(source), {"files": [file(), file("lions.md")]}, follow=True)
    job = IngestionJob.objects.get()
    assert f"/admin/rag/ingestionjob/{job.pk}/change/" in reply.content.decode()
    assert (job.created_by, job.source) == (world.users["owner"], source)
    assert list(job.documents.values_list("path", flat=True)) == ["zebras.md", "lions.md"]


def test_the_script_sends_paths_and_receives_the_jobs_url(world: World) -> None:
    source = world.source()
    client = staff_browser(world.users["owner"])
    files, paths = [file(), file(), file(content=b"")], ["a/zebras.md", "b/zebras.md", "empty.md"]
    values: dict[str, Any] = {"files": files, "paths": json.dumps(paths)}
    reply = client.post(page(source), values, headers={"Accept": "application/json"})
    job = IngestionJob.objects.get()
    assert reply.json() == {"job": str(job.pk), "url": f"/admin/rag/ingestionjob/{job.pk}/change/"}
    states = [*["queued"] * 2, "failed"]
    assert list(job.documents.values_list("path", "state")) == list(zip(paths, states, strict=True))


def test_a_type_that_cannot_be_stored_is_left_out(world: World) -> None:
    client, source = staff_browser(world.users["owner"]), world.source()
    declared = SimpleUploadedFile("zebras.md", b"# Zebras", "text/markdown\0")
    assert client.post(page(source), {"files": [declared]}).status_code == 302
    assert IngestionJob.objects.get().documents.get().content_type == ""


def test_invalid_uploads_are_rejected_with_a_reason(world: World, settings: Any, stored_files: Path) -> None:
    source = world.source()
    client = staff_browser(world.users["owner"])
    settings.RAG_MAX_FILE_BYTES, settings.DATA_UPLOAD_MAX_NUMBER_FILES = 1000, 3
    picture = SimpleUploadedFile("a.gif", b"GIF89a\x01\x00\x01\x00", "image/gif")
    cases: list[tuple[dict[str, Any], int, str]] = [
        ({}, 400, "Choose at least one file"),
        ({"files": [file(content=b"")]}, 400, "is empty"),
        ({"files": [file("a.md"), file("a.md")]}, 400, "Two files have the path a.md"),
        ({"files": [file()], "paths": "[]"}, 400, "The form could not be read"),
        ({"files": [file()], "paths": '["a\\nb"]'}, 400, "b: a path needs 1 to 2,000 bytes"),
        ({"files": [file()], "paths": "{"}, 400, "The form could not be read"),
        ({"files": [file(content=b"x" * 1001)]}, 413, "1,000 bytes (RAG_MAX_FILE_BYTES)"),
        ({"files": [file(f"{number}") for number in range(4)]}, 400, "At most 3 files"),
        ({"files": [picture]}, 400, "cannot be read"),
    ]
    for values, status, message in cases:
        for headers in ({}, {"Accept": "application/json"}):
            for upload in values.get("files", []):
                upload.seek(0)
            reply = client.post(page(source), values, headers=headers)
            assert (reply.status_code, message in reply.content.decode()) == (status, True), message
    assert (IngestionJob.objects.count(), Original.objects.count()) == (0, 0)
    assert not any(path.is_file() for path in stored_files.rglob("*"))


@pytest.mark.parametrize(("name", "status"), [("editor", 200), ("member", 404), ("foreigner", 404)])
def test_who_may_upload(world: World, name: str, status: int) -> None:
    """Users who may send documents to the source, whether they may manage it or not."""
    source = world.source()
    client = staff_browser(world.users[name])
    assert client.get(page(source)).status_code == status
    reply = client.post(page(source), {"files": [file()]}, headers={"Accept": "application/json"})
    assert reply.status_code == status
    assert IngestionJob.objects.exists() == (status == 200)
    if status == 200:
        assert reply.json()["url"] == "", "editors have no page of jobs"
    assert client.get("/admin/rag/datasource/none/upload/").status_code == 404


def test_the_list_of_documents_leads_to_the_uploads_of_people_who_manage_no_source(world: World) -> None:
    source, closed = world.source(), world.source("foreign", organization=world.abroad)
    editor, owner = staff_browser(world.users["editor"]), staff_browser(world.users["owner"])

    def links(client: Client, query: str = "") -> list[bool]:
        content = client.get(f"/admin/rag/document/{query}").content.decode()
        return [page(row) in content for row in (source, closed)]

    assert links(editor) == [True, False]
    assert links(owner) == [False, False], "each source has a page of its own, with the upload"
    chosen = f"?source__id__exact={source.pk}"
    assert (links(editor, chosen), links(owner, chosen)) == ([True, False], [True, False])


def test_uploads_need_a_session_and_a_csrf_token(world: World, stored_files: Path) -> None:
    source = world.source()
    assert Client().post(page(source), {"files": [file()]}).status_code == 302
    strict = Client(enforce_csrf_checks=True)
    world.users["owner"].is_staff = True
    world.users["owner"].save()
    strict.force_login(world.users["owner"])
    assert strict.post(page(source), {"files": [file()]}).status_code == 403
    strict.get(page(source))
    token = strict.cookies["csrftoken"].value
    assert strict.post(page(source), {"files": [file()], "csrfmiddlewaretoken": token}).status_code == 302
    assert IngestionJob.objects.count() == 1


def test_an_original_is_downloaded_and_never_displayed(world: World) -> None:
    source = world.source()
    client = staff_browser(world.users["owner"])
    name = 'x"\r\nSet-Cookie: é.html'
    client.post(page(source), {"files": [file("page.html", b"<script>alert(1)</script>")]})
    Original.objects.update(name=name)
    document = process(IngestionJob.objects.get())
    url = f"/admin/rag/document/{document.pk}/original/"
    assert url in client.get(f"/admin/rag/document/{document.pk}/change/").content.decode()
    reply = client.get(url)
    assert b"".join(reply.streaming_content) == b"<script>alert(1)</script>"  # type: ignore[attr-defined]
    assert reply["Content-Type"] == "application/octet-stream"
    assert reply["Content-Disposition"].startswith("attachment; filename")
    assert reply["X-Content-Type-Options"] == "nosniff"
    assert "Set-Cookie" not in reply.headers
    for sent, saved in (
        ("../../etc/passwd", "passwd"),
        ("..\\..\\autorun.inf", "autorun.inf"),
        ("invoice\u202egnp.exe", "invoicegnp.exe"),
        ("a\u200bb\x07.txt", "ab.txt"),
        ("x" * 400 + ".html", "x" * 145 + ".html"),
        ("a/..", "original"),
    ):
        Original.objects.update(name=sent)
        reply = client.get(url)
        assert reply["Content-Disposition"] == f'attachment; filename="{saved}"'
        b"".join(reply.streaming_content)  # type: ignore[attr-defined]


def test_an_original_needs_permission_to_query_the_source(world: World) -> None:
    """Shared rules: nothing widens querying, "not being organisation owner". Other organisations see nothing."""
    source = world.source(visibility=Visibility.PERSONAL, owner=world.users["editor"])
    editor, owner, foreigner = (staff_browser(world.users[name]) for name in ("editor", "owner", "foreigner"))
    editor.post(page(source), {"files": [file()]})
    document = process(IngestionJob.objects.get())
    url = f"/admin/rag/document/{document.pk}/original/"
    reply = editor.get(url)
    assert b"".join(reply.streaming_content) == b"# Zebras\n\nStripes."  # type: ignore[attr-defined]
    assert [client.get(url).status_code for client in (owner, foreigner)] == [404, 404]
    assert url not in owner.get(f"/admin/rag/document/{document.pk}/change/").content.decode()
    assert Client().get(url).status_code == 302
    texts = ingest_text(world.source("other"), "text", "Lions.")
    for missing in (texts.document_id, "none"):
        assert editor.get(f"/admin/rag/document/{missing}/original/").status_code == 404


def test_documents_and_sources_are_parsed_again(world: World) -> None:
    source, foreign = world.source(), world.source("foreign", organization=world.abroad)
    documents = [ingest_text(source, "a", "Alpha.").document_id, ingest_text(foreign, "b", "Beta.").document_id]
    client = staff_browser(world.users["owner"])
    action = {"action": "reparse", "_selected_action": documents}
    reply = client.post("/admin/rag/document/", action, follow=True)
    assert "Queued 1 document to be parsed again." in reply.content.decode()
    action = {"action": "reparse", "_selected_action": [source.pk, foreign.pk]}
    assert "already being ingested" in client.post("/admin/rag/datasource/", action, follow=True).content.decode()
    assert factories.process_queue() == 1
    assert "Queued 1 document " in client.post("/admin/rag/datasource/", action, follow=True).content.decode()
    assert set(IngestionJob.objects.values_list("source", "force_reparse")) == {(source.pk, True)}


def test_uploads_count_as_ingestions_of_the_organisation(world: World, settings: Any) -> None:
    settings.RAG_RATE_LIMITS = True
    world.home.ingestions_per_minute = 2
    world.home.save()
    client, source = staff_browser(world.users["owner"]), world.source()
    assert [client.post(page(source), {"files": [file()]}).status_code for _ in range(2)] == [302, 302]
    refused = client.post(page(source), {"files": [file()]})
    assert (refused.status_code, "many requests" in refused.content.decode()) == (429, True)
    by_script = client.post(page(source), {"files": [file()]}, headers={"Accept": "application/json"})
    assert (by_script.status_code, "many requests" in by_script.json()["message"]) == (429, True)
    assert IngestionJob.objects.count() == 2
