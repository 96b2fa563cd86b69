"""The audit trail in the admin: who sees it, and its export."""

import csv
import io
from typing import Any

import pytest
from django.utils import timezone

from accounts.audit.events import AuditEvent
from accounts.models import User
from rag.models import DataSource, Document
from rag.services.sources import documents
from tests.accounts.audit.audit_helpers import PAGE, export_csv, newest_event
from tests.support.browsers import staff_browser
from tests.support.factories import World, ingest_text


def test_managers_see_only_the_events_of_their_organisation(world: World) -> None:
    world.source("home-library")
    world.source("foreign-library", organization=world.abroad)
    owner = staff_browser(world.users["owner"])
    text = owner.get(f"{PAGE}?organization={world.home.pk}", secure=True).content.decode()
    assert "home-library" in text
    assert "foreign" not in text
    assert "Abroad" not in text
    foreign_event = AuditEvent.objects.filter(organization_id=world.abroad.pk).first()
    assert foreign_event is not None
    assert owner.get(f"{PAGE}{foreign_event.pk}/change/", secure=True).status_code == 302
    assert "foreign" not in export_csv(owner, f"organization={world.abroad.pk}")
    for name in ("editor", "member"):
        assert staff_browser(world.users[name]).get(PAGE, secure=True).status_code == 403
        assert staff_browser(world.users[name]).get(f"{PAGE}export.csv", secure=True).status_code == 403


def test_the_admin_shows_events_read_only(world: World) -> None:
    root = staff_browser(User.objects.create_superuser("root@platform.example"))
    event = newest_event()
    page = root.get(f"{PAGE}{event.pk}/change/", secure=True)
    assert page.status_code == 200
    assert 'name="_save"' not in page.content.decode()
    assert root.post(f"{PAGE}{event.pk}/change/", {"action": "x"}, secure=True).status_code == 403
    assert root.post(f"{PAGE}{event.pk}/delete/", {"post": "yes"}, secure=True).status_code == 403
    assert root.get(f"{PAGE}add/", secure=True).status_code == 403


@pytest.mark.parametrize("query", ["action=deleted", "kind=source&action=deleted", "q=deletable", "at__year=2000"])
def test_the_export_applies_the_filters_of_the_list(world: World, query: str) -> None:
    ingest_text(world.source("deletable"), "zebras.md", "Zebras.")
    source = DataSource.objects.get(slug="deletable")
    documents.delete_document(source.documents.get())
    source.deleted_at = timezone.now()
    source.save(update_fields=["deleted_at"])
    root = staff_browser(User.objects.create_superuser("root@platform.example"))
    page = root.get(f"{PAGE}?{query}", secure=True)
    assert page.status_code == 200
    rows = list(csv.DictReader(io.StringIO(export_csv(root, query))))
    assert len(rows) == page.context["cl"].result_count
    assert (newest_event().kind, newest_event().action) == ("audit_trail", "exported")


def test_spreadsheets_read_formulas_and_umlauts_of_the_export_as_text(world: World) -> None:
    source = world.source()
    for path in ("=cmd()", "＝cmd()", "Grüße.md"):
        ingest_text(source, path, "Zebras.")
        documents.delete_document(Document.objects.get(path=path))
    root = staff_browser(User.objects.create_superuser("root@platform.example"))
    reply: Any = root.get(f"{PAGE}export.csv?action=deleted", secure=True)
    content = b"".join(reply)
    assert content.startswith(b"\xef\xbb\xbfat,"), "Excel reads files without this mark as Latin-1"
    rows = csv.DictReader(io.StringIO(content.decode("utf-8-sig")))
    assert [row["object_label"] for row in rows] == ["Grüße.md", "'＝cmd()", "'=cmd()"]


@pytest.mark.parametrize(
    "query",
    [
        *("actor_id__gt=0", "organization__slug=home", "at__regex=.", "organization=x", "p=-1"),
        *("p=%00", "action__exact=%00", "%00=", f"at__year={10**29}", "at__year=99999", "at__gte=x"),
    ],
)
def test_invalid_query_parameters_cause_no_server_error(world: World, query: str) -> None:
    root = staff_browser(User.objects.create_superuser("root@platform.example"))
    reply: Any = root.get(f"{PAGE}export.csv?{query}", secure=True)
    assert reply.status_code in (200, 400, 404)
    b"".join(reply)  # reading to the end closes the file
