"""A citation of a PDF shows the page with the passage marked, to those who may query the document."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client
from PIL import Image, ImageChops

from orgs.access.permissions import Visibility
from rag.errors import ParseFailed
from rag.models import Chunk, DataSource, Document
from rag.parsing.sandbox import parse_in_sandbox
from rag.providers.limits import expensive_work_limiter
from rag.providers.limits.cross_process_slots import CrossProcessSlots
from rag.services.sources.reading import page_pictures
from tests.parsing.files import pictures
from tests.parsing.files.pdfs import pdf
from tests.services.jobs.uploading import send, upload
from tests.support.factories import World

PAGES = ("Zebras sleep standing up all night.", "The lion weighs about 200 kilograms in spring.\n\n\n\nAnts are small.")
CITED = "The lion weighs about 200 kilograms in spring."


@pytest.fixture
def document(world: World) -> Document:
    caches["page_pictures"].clear()
    source = world.source("secret", visibility=Visibility.PERSONAL)
    send(world, source, upload("animals.pdf", pdf(PAGES)))
    return Document.objects.get()


def signed_in(world: World, name: str) -> Client:
    client = Client()
    client.force_login(world.users[name])
    return client


def citation_url(document: Document, text: str) -> str:
    chunk = Chunk.objects.get(document=document, text__contains=text)
    start = chunk.start + chunk.text.index(text)
    return f"/documents/{document.pk}?chunk={chunk.pk}&start={start}&end={start + len(text)}"


def picture_url(client: Client, document: Document, text: str = CITED) -> str:
    """The address of the picture on the page that a citation of this text opens; empty if it has none."""
    match = re.search(
        r'<img src="([^"]+/page-picture[^"]*)"', client.get(citation_url(document, text)).content.decode()
    )
    return match[1].replace("&amp;", "&") if match else ""


def marked_box(picture: Image.Image) -> tuple[float, ...] | None:
    """The edges of what is marked, in points of the page, whose size is 612 x 792."""
    red, _, blue = picture.convert("RGB").split()
    box = ImageChops.subtract(red, blue).point(lambda value: 255 if value > 90 else 0).getbbox()
    return tuple(edge * 612 / picture.width for edge in box) if box else None


def test_a_citation_shows_its_page_with_the_passage_marked(world: World, document: Document) -> None:
    owner = signed_in(world, "owner")
    reply = owner.get(picture_url(owner, document))
    assert (reply.status_code, reply["Content-Type"]) == (200, "image/webp")
    assert "no-store" in reply["Cache-Control"]
    box = marked_box(Image.open(io.BytesIO(reply.content)))
    assert box
    left, top, right, bottom = box
    # One line of 12 points, which begins 72 points from the left edge, with its baseline 72 from the top.
    assert 60 < left < 80
    assert 200 < right < 400
    assert 55 < top < 70 < bottom < 82


def test_others_see_neither_the_document_nor_its_picture(world: World, document: Document) -> None:
    owner = signed_in(world, "owner")
    url = picture_url(owner, document)
    assert owner.get(url).status_code == 200  # and is remembered
    for name in ("member", "editor", "foreigner"):
        assert signed_in(world, name).get(url).status_code == 404
    assert Client().get(url).status_code == 302
    DataSource.objects.update(owner=world.users["editor"])
    assert owner.get(url).status_code == 404
    assert signed_in(world, "editor").get(url).status_code == 200


def test_a_reader_who_may_only_query_sees_the_picture(world: World, document: Document) -> None:
    DataSource.objects.update(visibility=Visibility.PUBLIC, owner=world.users["owner"])
    member = signed_in(world, "member")
    assert member.get(picture_url(member, document)).status_code == 200


def test_the_text_alone_is_shown_if_there_is_no_file_to_draw(
    world: World, document: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = signed_in(world, "owner")
    url = picture_url(owner, document)
    assert not re.search("page-picture", owner.get(f"/documents/{document.pk}").content.decode()), "nothing is cited"
    assert owner.get(url.partition("?")[0]).status_code == 404
    with monkeypatch.context() as patch:
        patch.setattr(page_pictures, "MAX_FILE_BYTES", 10)
        assert (picture_url(owner, document), owner.get(url).status_code) == ("", 404)
    Document.objects.update(original=None)
    assert (picture_url(owner, document), owner.get(url).status_code) == ("", 404)
    assert CITED in owner.get(citation_url(document, CITED)).content.decode()


def test_a_picture_is_remembered_and_a_pdf_that_cannot_be_drawn_is_not_found(
    world: World, document: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = signed_in(world, "owner")
    url = picture_url(owner, document)
    picture = owner.get(url).content

    def fail(*_: object) -> bytes:
        raise ParseFailed("It is damaged.")

    monkeypatch.setattr(parse_in_sandbox, "draw_cited_page_in_sandbox", fail)
    assert owner.get(url).content == picture
    caches["page_pictures"].clear()
    assert owner.get(url).status_code == 404


@pytest.mark.parametrize(("name", "kind"), [("scan.pdf", "PDF"), ("scan.png", "PNG")])
def test_the_lines_of_a_scan_are_marked(world: World, name: str, kind: str) -> None:
    caches["page_pictures"].clear()
    source = world.source("secret", visibility=Visibility.PERSONAL)
    scan = pictures.page(["Zebras sleep standing up.", "", "", "Lions weigh 200 kilograms."], width=612)
    send(world, source, upload(name, pictures.encoded(scan, kind=kind)))
    document, owner = Document.objects.get(), signed_in(world, "owner")
    assert (document.recognized_pages, document.recognition_seconds > 0) == (1, True)
    url = picture_url(owner, document, "Lions weigh 200 kilograms.")
    box = marked_box(Image.open(io.BytesIO(owner.get(url).content)))
    assert box
    left, top, right, bottom = box
    # The fourth line of 28 pixels begins 28 pixels from the left edge.
    assert 15 < left < 35
    assert 300 < right < 450
    assert 44 * 4 - 12 < top < bottom < 44 * 5 + 12
    assert signed_in(world, "editor").get(url).status_code == 404
    Document.objects.update(line_boxes=b"")  # as documents of earlier versions have it
    assert marked_box(Image.open(io.BytesIO(owner.get(url).content))) is None


def test_few_pages_are_drawn_at_a_time(
    world: World, document: Document, settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Eight at a time for each account took all cores from searches."""
    owner = signed_in(world, "owner")
    url = picture_url(owner, document)
    monkeypatch.setattr(expensive_work_limiter, "MAX_WAIT_SECONDS", 0.0)
    count = settings.RAG_MAX_DOCUMENT_EMBEDDINGS
    slots = CrossProcessSlots(folder=settings.RAG_TEMP_FOLDER / "picture-slots", count=count)
    with contextlib.ExitStack() as stack:
        assert all(stack.enter_context(slots.slot(timeout=0)) for _ in range(count))
        assert owner.get(url).status_code == 429
    folder, settings.RAG_TEMP_FOLDER = settings.RAG_TEMP_FOLDER, tmp_path / "file"
    settings.RAG_TEMP_FOLDER.touch()
    assert owner.get(url).status_code == 503, "the picture exists, but the server cannot draw it"
    settings.RAG_TEMP_FOLDER = folder
    assert owner.get(url).status_code == 200
