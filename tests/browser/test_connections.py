"""What administrators connect and improve, at a browser: syncs, webhooks, access, invitations, unanswered questions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.test import Client
from playwright.sync_api import Locator, Page, expect

from rag.models import GoldenQuestion, Grant, SyncConnection, UnansweredQuestion, WebhookDelivery

from .site import QUESTION, Site
from .visitor import Visitor

SOURCES = "/admin/rag/datasource/"


def choose(page: Page, row: Locator, action: str) -> None:
    """Run an action of a list on one of its rows."""
    row.get_by_role("checkbox").check()
    page.get_by_label("Action:").select_option(action)
    page.get_by_role("button", name="Go").click()


def test_an_owner_connects_a_folder(site: Site, visitor: Callable[..., Visitor], tmp_path: Path, settings: Any) -> None:
    settings.RAG_SYNC_FOLDERS = {site.world.home.slug: [str(tmp_path)]}
    person = visitor(site.users["owner"])
    page = person.page
    page.goto("/admin/rag/syncconnection/")
    expect(page.get_by_text("keeps a data source equal to a folder")).to_be_visible()
    page.get_by_role("link", name="Add sync connection").click()
    page.get_by_label("Data source:").select_option(label="Animals")
    page.get_by_label("Location").fill(str(tmp_path / "missing"))
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("does not allow it")).to_be_visible()
    assert not person.check_page()
    page.get_by_label("Location").fill(str(tmp_path))
    page.get_by_role("button", name="Save", exact=True).click()
    choose(page, page.get_by_role("row", name="Animals"), "sync_now")
    expect(page.get_by_text("1 sync was started.")).to_be_visible()
    assert not person.check_page()
    page.goto("/admin/rag/syncrun/")
    expect(page.get_by_role("row", name="Animals")).to_be_visible()
    assert SyncConnection.objects.get().acts_for == site.users["owner"]


def test_an_owner_adds_a_webhook_and_sends_a_failed_delivery_again(site: Site, visitor: Callable[..., Visitor]) -> None:
    person = visitor(site.users["owner"])
    page = person.page
    page.goto("/admin/rag/webhook/add/")
    page.get_by_label("Address").fill("https://93.184.215.14/hook")
    page.get_by_label("job.failed").check()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("It is not shown again.")).to_be_visible()
    assert not person.check_page()
    choose(page, page.get_by_role("row", name="93.184.215.14"), "send_test")
    expect(page.get_by_text("The test events are being sent.")).to_be_visible()
    WebhookDelivery.objects.update(
        state="failed", due_at=None, attempts=8, response_status=500, error="The address answered 500."
    )
    page.get_by_role("row", name="93.184.215.14").get_by_role("link", name="Show").click()
    row = page.get_by_role("row", name="webhook.test")
    expect(row).to_contain_text("The address answered 500.")
    assert not person.check_page()
    choose(page, row, "send_again")
    expect(page.get_by_text("1 delivery is sent again.")).to_be_visible()
    expect(row.locator(".field-state")).to_have_text("Pending")
    expect(row.locator(".field-attempts")).to_have_text("0")
    row.get_by_role("link").first.click()
    expect(page.locator(".field-body")).to_contain_text('"type": "webhook.test"')
    assert not person.check_page()


def test_an_owner_changes_access_in_the_matrix_and_invites_a_person(
    site: Site, visitor: Callable[..., Visitor], mailoutbox: list[Any]
) -> None:
    person = visitor(site.users["owner"])
    page, editor = person.page, site.users["editor"].email
    page.goto("/admin/")
    page.locator(".shortcuts").get_by_role("link", name="Who can query what").click()
    page.locator("#person").select_option(label=editor)
    page.locator("#team").select_option(label="support")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("status").filter(has_text="could also query")).to_contain_text("For team")
    assert not person.check_page()
    page.get_by_role("link", name=f"Change the access of {editor} to For private").click()
    expect(page.get_by_role("button", name=f"Open it to {editor}")).to_be_visible()
    assert not person.check_page()
    page.get_by_role("button", name=f"Open it to {editor}").click()
    expect(page.get_by_text(f"For private is now open to {editor}.")).to_be_visible()
    assert Grant.objects.filter(user__email=editor, source__name="For private").exists()
    page.goto("/admin/")
    page.locator(".shortcuts").get_by_role("link", name="Invite a person").click()
    page.get_by_label("E-mail address").fill("guest@home.example")
    page.get_by_label("support").check()
    page.get_by_role("button", name="Send the invitation").click()
    # As in `make run`, which has no mail server.
    expect(page.get_by_text("The message for guest@home.example, with its link, is in the log")).to_be_visible()
    (message,) = mailoutbox
    assert "/invitation?token=" in message.body


def test_an_unanswered_question_becomes_a_golden_question(site: Site, visitor: Callable[..., Visitor]) -> None:
    client = Client()
    client.force_login(site.users["member"])
    # Who manages a source sees only questions that searched nothing hidden from them.
    client.post("/", {"question": "What do zebras earn?", "sources": [str(site.source.pk)]})
    assert UnansweredQuestion.objects.filter(source=site.source).exists()
    person = visitor(site.users["owner"])
    page = person.page
    page.goto(f"{SOURCES}{site.source.pk}/change/")
    page.get_by_role("link", name="Unanswered questions").click()
    expect(page.get_by_role("row", name="What do zebras earn?")).to_be_visible()
    assert not person.check_page()
    page.get_by_role("button", name="Must find this document: What do zebras earn?").click()
    expect(page.get_by_text("There are none.")).to_be_visible()
    assert GoldenQuestion.objects.filter(question="What do zebras earn?").exists()
    page.goto(f"{SOURCES}{site.source.pk}/search-trace/")
    page.get_by_label("Question").fill(QUESTION)
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("heading", name="Stages")).to_be_visible()
    assert not person.check_page()
