"""POST /api/rag/ingest as multipart/form-data: files as the documents of a job."""

from collections.abc import Callable
from typing import Any

import pytest

from orgs.access.caller import Caller
from rag.models import DataSource, Document, IngestionDocument, IngestionJob, Original, WebhookDelivery
from rag.services.jobs import job_lookup
from rag.services.webhooks import endpoints
from rag.services.webhooks.endpoints import WebhookSettings
from tests.parsing.files import pdf, pictures
from tests.support import factories
from tests.support.factories import World
from tests.support.http import Client, Reply

Api = Callable[..., Client]
BOUNDARY = "----a-boundary"
File = tuple[str, bytes, str | None]


def send(client: Client, files: list[File], **form: Any) -> Reply:
    """Send a form. files: (name, content, content type)."""
    parts = [
        f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode()
        for name, value in {"dataSourceId": "library", **form}.items()
    ]
    for name, content, kind in files:
        header = f'Content-Disposition: form-data; name="files"; filename="{name}"\r\n'
        header += f"Content-Type: {kind}\r\n" if kind else ""
        parts.append(header.encode() + b"\r\n" + content)
    delimiter = f"--{BOUNDARY}".encode()
    return send_raw(client, b"".join(delimiter + b"\r\n" + part + b"\r\n" for part in parts) + delimiter + b"--\r\n")


def send_raw(client: Client, body: bytes, boundary: str = BOUNDARY) -> Reply:
    return client.with_headers(Content_Type=f"multipart/form-data; boundary={boundary}").post("/api/rag/ingest", body)


def test_files_are_the_documents_of_a_job(api: Api, live_world: World) -> None:
    live_world.source()
    editor = api("editor")
    files: list[File] = [
        ("zebras.md", b"# Zebras\n\nZebras have stripes.", "text/markdown"),
        ("../../etc/oaks.txt", "Oaks are trées.".encode(), "text/plain; charset=utf-8"),
        ("lions.md", b"# Lions\n\nLions roar.", "application/octet-stream"),
        ("bears", b"Bears sleep.", None),
        ("big.txt", b"word " * 700_000, "text/plain"),
    ]
    reply = send(editor, files, chunkSize=64, chunkOverlap=8)
    assert (reply.status, reply.body["progress"]["documents"]) == (202, 5), reply
    job = IngestionJob.objects.get()
    assert (job.chunk_size, job.chunk_overlap) == (64, 8)
    assert list(job.documents.values_list("path", "content_type")) == [
        ("zebras.md", "text/markdown"), ("oaks.txt", "text/plain"), ("lions.md", "application/octet-stream"),
        ("bears", ""), ("big.txt", "text/plain"),
    ]  # fmt: skip
    factories.process_documents(ids=list(job.documents.exclude(path="big.txt").values_list("pk", flat=True)))
    assert Document.objects.get(path="oaks.txt").text == "Oaks are trées."
    for path, heading in (("zebras.md", "Zebras"), ("lions.md", "Lions")):
        assert Document.objects.get(path=path).chunks.get().headings == [heading]
        assert Document.objects.get(path=path).content_type == "text/markdown"  # declared or detected


def test_unreadable_files(api: Api, live_world: World, settings: Any) -> None:
    """UNSUPPORTED_FORMAT rejects a job of one document. In larger jobs it is the document's error, like PARSE_ERROR."""
    live_world.source()
    settings.RAG_WEBHOOK_PRIVATE_HOSTS = ["127.0.0.1"]
    webhook = WebhookSettings(url="http://127.0.0.1:9/hook", events=["document.failed"])
    endpoints.create_webhook(Caller(live_world.users["owner"]), webhook)
    editor = api("editor")
    good: File = ("good.txt", b"Alpha.", "text/plain")
    picture: File = ("a.gif", b"GIF89a\x01\x00\x01\x00", "image/gif")
    reply = send(editor, [picture])
    assert (reply.status, reply.body["error"]) == (415, "UNSUPPORTED_FORMAT")
    assert not IngestionJob.objects.exists()
    assert not Original.objects.exists()
    job = send(editor, [good, picture, ("bad.pdf", b"%PDF-1.7 and no more", "application/pdf")]).body
    assert [(error["index"], error["path"], error["code"]) for error in job["errors"]] == [
        (1, "a.gif", "UNSUPPORTED_FORMAT")
    ]
    factories.process_documents(ids=list(IngestionDocument.objects.values_list("pk", flat=True)))
    failed = IngestionDocument.objects.filter(state="failed").order_by("index")
    assert list(failed.values_list("path", "error_code")) == [
        ("a.gif", "UNSUPPORTED_FORMAT"), ("bad.pdf", "PARSE_ERROR"),
    ]  # fmt: skip
    sent = [delivery.payload["data"]["path"] for delivery in WebhookDelivery.objects.order_by("created_at")]
    assert sent == ["a.gif", "bad.pdf"]


def test_a_source_decides_whether_pictures_are_read(api: Api, live_world: World) -> None:
    source = live_world.source(has_ocr=False)
    scan: File = ("scan.png", pictures.encoded(pictures.page(["Bees hum."], width=256), kind="PNG"), "image/png")
    reply = send(api("editor"), [scan])
    assert (reply.status, reply.body["error"]) == (415, "UNSUPPORTED_FORMAT")
    assert "text recognition (OCR) is off" in reply.body["message"]
    DataSource.objects.filter(pk=source.pk).update(has_ocr=True)
    assert send(api("editor"), [scan]).status == 202
    factories.process_documents(ids=list(IngestionDocument.objects.values_list("pk", flat=True)))
    document = Document.objects.get()
    assert (document.text, document.chunks.get().first_page) == ("Bees hum.", 1)


def test_pages_over_the_limit_of_recognition_are_named(api: Api, live_world: World, settings: Any) -> None:
    live_world.source()
    settings.RAG_OCR_MAX_PAGES = 1
    scan = pictures.page(["Bees hum."], width=256)
    job = send(api("editor"), [("a.pdf", pdf(["Ants walk.", scan, scan, "Wasps fly.", scan]), None)]).body
    factories.process_documents(ids=list(IngestionDocument.objects.values_list("pk", flat=True)))
    assert Document.objects.get().text == "Ants walk.\n\nBees hum.\n\nWasps fly."
    (document,) = api("editor").get(f"/api/rag/ingest/{job['jobId']}/documents").body["documents"]
    assert (document["status"], document["error"], document["warning"]["code"]) == ("done", None, "PAGES_NOT_READ")
    assert "cannot be searched: 3, 5. At most 1 pages" in document["warning"]["message"]
    assert "RAG_OCR_MAX_PAGES" in document["warning"]["message"]
    (warned,) = job_lookup.list_warnings(IngestionJob.objects.get(), 50)
    assert warned.error_message == document["warning"]["message"]


def test_a_form_without_files_says_how_many_it_may_have(api: Api, live_world: World) -> None:
    """Fewer than a job may have documents."""
    live_world.source()
    assert send(api("editor"), []).body["message"] == "files must have from 1 to 1,000 entries"


def test_invalid_forms_are_rejected(api: Api, live_world: World, settings: Any) -> None:
    live_world.source()
    editor = api("editor")
    good: File = ("good.txt", b"Alpha.", "text/plain")
    settings.RAG_MAX_DOCUMENTS_PER_JOB, settings.DATA_UPLOAD_MAX_NUMBER_FILES = 3, 5
    refused: dict[str, Reply] = {
        "files": send(editor, []),
        "files[0]": send(editor, [("empty.txt", b" \n", "text/plain")]),
        "files ": send(editor, [good, good]),
        "files  ": send(editor, [(f"{number}.txt", b"x", "text/plain") for number in range(4)]),
        "files   ": send(editor, [(f"{number}.txt", b"x", "text/plain") for number in range(6)]),
        "chunkSize": send(editor, [good], chunkSize="many"),
        "chunkOverlap": send(editor, [good], chunkSize=100, chunkOverlap=60),
        "dataSourceId": send(editor, [good], dataSourceId=""),
        "body  ": send_raw(editor, b"this is not a form"),
        "body": send_raw(editor, b"x", boundary=""),
        "body ": send_raw(editor, b'--b\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n'
                     b"Content-Transfer-Encoding: base64\r\n\r\n!\r\n--b--\r\n", boundary="b"),
    }  # fmt: skip
    for field, reply in refused.items():
        assert (reply.status, reply.body["details"].get("field")) == (400, field.strip()), (field, reply)
        assert set(reply.body) == {"error", "message", "details"}
    assert not IngestionJob.objects.exists()


@pytest.mark.parametrize("name", ["\udcfcber.txt", ".", "dir/", "\x01"])
def test_a_file_without_a_readable_name_is_not_left_out(api: Api, live_world: World, name: str) -> None:
    """Django skips its part. The first one is ISO-8859-1, as curl sends names on Windows."""
    live_world.source()
    part = b'--b\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
    unreadable = b'; filename="%s"' % name.encode(errors="surrogateescape")
    body = part % (b"dataSourceId", b"", b"library") + part % (b"f", b'; filename="good.txt"', b"Alpha.")
    body += part % (b"f", unreadable, b"Beta.")
    reply = send_raw(api("editor"), body + b"--b--\r\n", boundary="b")
    assert (reply.status, reply.body["details"]["field"]) == (400, "files")
    assert not IngestionJob.objects.exists()


@pytest.mark.parametrize("missing", [8, 20, 200])
def test_a_form_that_was_cut_off_is_rejected(api: Api, live_world: World, missing: int) -> None:
    """Django leaves out a file without an end."""
    live_world.source()
    part = b'--b\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
    body = part % (b"dataSourceId", b"", b"library") + part % (b"f", b'; filename="good.txt"', b"Alpha.")
    body += part % (b"f", b'; filename="long.txt"', b"Beta. " * 100) + b"--b--\r\n"
    assert send_raw(api("editor"), body, boundary="b").status == 202
    reply = send_raw(api("editor"), body[:-missing], boundary="b")
    assert (reply.status, reply.body["details"]["field"]) == (400, "body")


def test_who_may_upload(api: Api, live_world: World) -> None:
    """PERMISSION_DENIED: "User cannot ingest to this data source"."""
    live_world.source()
    file: File = ("a.txt", b"Alpha.", "text/plain")
    refused = send(api("member"), [file])
    assert (refused.status, refused.body["error"]) == (403, "PERMISSION_DENIED")
    assert send(api("foreigner"), [file]).status == 404
    assert send(api(), [file]).status == 401
    assert not IngestionDocument.objects.exists()


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "multipart/mixed; boundary=b"])
def test_other_content_types_are_rejected(api: Api, kind: str) -> None:
    reply = api("editor").with_headers(Content_Type=kind).post("/api/rag/ingest", b"dataSourceId=library")
    assert reply.status == 415
