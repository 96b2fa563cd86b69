"""What a member does with an own account, conversations and answers, at a browser."""

import datetime
import re
import uuid
from collections.abc import Callable

from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.models import OAuthClient, TokenFamily
from rag.models import ConversationMessage
from tests.support.factories import PASSWORD

from .site import QUESTION, Site
from .visitor import Visitor

_MAX_TABS = 60


def focus_with_tab(page: Page, selector: str) -> None:
    """Press Tab until an element that matches is focused."""
    for _ in range(_MAX_TABS):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"the keyboard does not reach {selector}")


def ignore(_: object) -> None:
    pass


def ask(page: Page, question: str = QUESTION) -> None:
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    expect(page.locator(".answer-footer").last).to_be_visible()


def test_the_keyboard_alone_asks_and_opens_the_cited_passage(site: Site, visitor: Callable[..., Visitor]) -> None:
    page = visitor(site.users["member"]).page
    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    focus_with_tab(page, "#question")
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator(".cite").first).to_be_visible()
    page.locator("#main").focus()
    focus_with_tab(page, ".cite")
    page.keyboard.press("Enter")
    expect(page.locator("#passage")).to_contain_text("300 kilograms")
    expect(page.locator("#passage")).to_be_in_viewport()


def test_the_keyboard_alone_filters_a_list_and_uploads_a_file(site: Site, visitor: Callable[..., Visitor]) -> None:
    page = visitor(site.users["owner"]).page
    page.goto("/admin/rag/document/")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # skips the sidebar
    focus_with_tab(page, "#changelist-filter summary, .action-select")
    expect(page.locator("#changelist-filter summary").first).to_be_focused()  # before the rows, as people see it
    page.keyboard.press("Enter")
    focus_with_tab(page, "#changelist-filter li:not(.selected) a")
    page.keyboard.press("Enter")
    page.wait_for_url("**/document/?*__exact=*")
    # The browser begins to report choosers before a key opens one, not at the same time.
    page.on("filechooser", ignore)
    page.goto(f"/admin/rag/datasource/{site.source.pk}/upload/")
    focus_with_tab(page, "input[type=file]")
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files({"name": "giraffes.md", "mimeType": "text/markdown", "buffer": b"Giraffes are tall."})
    focus_with_tab(page, "[type=submit]")
    page.keyboard.press("Enter")
    expect(page.get_by_text("All files were uploaded.")).to_be_visible()
    page.remove_listener("filechooser", ignore)


def test_a_conversation_is_rated_renamed_found_and_deleted(site: Site, visitor: Callable[..., Visitor]) -> None:
    person = visitor(site.users["member"])
    page = person.page
    page.goto("/")
    page.get_by_label("Animals").check()
    ask(page)
    expect(page).to_have_title(f"{QUESTION} · ragsite")
    expect(page.locator(".curl code")).to_contain_text("/api/rag/query")
    page.get_by_role("button", name="No", exact=True).click()
    page.get_by_label("What is wrong?").select_option(index=1)
    with page.expect_response("**/rating"):
        page.get_by_role("button", name="Send the reason").click()
    expect(page.get_by_role("status").filter(has_text="Thank you.")).to_be_visible()
    assert ConversationMessage.objects.filter(is_helpful=False).exclude(rating_reason="").count() == 1
    ask(page, "And how does it sleep?")
    expect(page.locator(".exchange").last).to_contain_text("standing up")
    assert not person.check_page()
    page.reload()
    expect(page.get_by_label("Animals")).to_be_checked()
    page.emulate_media(media="print")
    expect(page.locator(".answer-text").last).to_be_visible()
    for part in (".site-header", "#ask-form", ".answer-footer", ".actions"):
        expect(page.locator(part).last).to_be_hidden()
    page.emulate_media(media="screen")
    page.get_by_text("Rename").click()
    page.get_by_label("Title").press("Escape")
    expect(page.get_by_label("Title")).to_be_hidden()
    expect(page.get_by_text("Rename")).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_label("Title").fill("About zebras")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="About zebras")).to_be_visible()
    page.get_by_role("link", name="History").click()
    page.get_by_label("Search your conversations").fill("flamingo")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No conversation contains “flamingo”.")).to_be_visible()
    page.get_by_label("Search your conversations").fill("zebras")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="About zebras").click()
    page.get_by_text("Delete", exact=True).click()
    page.get_by_role("button", name="Delete it").click()
    expect(page.get_by_text("You have not asked anything yet.")).to_be_visible()


def test_a_question_survives_a_session_that_ended_or_was_renewed(site: Site, visitor: Callable[..., Visitor]) -> None:
    person = visitor()
    page = person.page
    person.sign_in(site.users["member"].email, PASSWORD)
    person.context.clear_cookies(name="sessionid")
    page.get_by_label("Your question").fill(QUESTION)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Password")).to_be_visible()
    person.sign_in(site.users["member"].email, PASSWORD)
    expect(page.get_by_label("Your question")).to_have_value(QUESTION)
    person.context.clear_cookies(name="csrftoken")  # as after a sign-in in another window
    page.keyboard.press("Control+a")
    page.get_by_label("Your question").press("Enter")
    expect(page.locator(".exchange")).to_have_count(0)  # the page has loaded again
    expect(page.get_by_label("Your question")).to_have_value(QUESTION)
    person.problems.clear()  # the browser reports the status 403
    ask(page)


def test_a_source_among_many_is_chosen_by_a_part_of_its_name(site: Site, visitor: Callable[..., Visitor]) -> None:
    for number in range(12):
        site.world.source(f"handbook-{number}", name=f"Handbook {number}")
    member = visitor(site.users["member"])
    page = member.page
    page.goto("/")
    page.get_by_label("Your question").fill(QUESTION)
    page.get_by_label("Handbook 3").check()
    page.get_by_label("Find a source").fill("anim")
    page.keyboard.press("Enter")
    expect(page.locator(".exchange")).to_have_count(0)
    expect(page.locator(".chip:visible")).to_have_text(["Animals", "Handbook 3"])
    assert not member.check_page()


def test_an_account_creates_and_revokes_a_key_and_ends_the_access_of_a_program(
    site: Site, visitor: Callable[..., Visitor]
) -> None:
    member = site.users["supporter"]
    program = OAuthClient.objects.create(name="Desk assistant", redirect_uris=["http://127.0.0.1/callback"])
    expiry = timezone.now() + datetime.timedelta(days=1)
    TokenFamily.objects.create(user=member, client=program, newest_token=uuid.uuid4(), expires_at=expiry)
    person = visitor(member)
    page = person.page
    page.goto("/")
    page.get_by_role("link", name=re.compile(member.email)).click()
    expect(page.get_by_text("Teams: support")).to_be_visible()
    page.get_by_role("link", name="Create an API key").click()
    page.get_by_label("Name").fill("Reports")
    page.get_by_role("checkbox").first.check()
    page.get_by_role("button", name="Create the key").click()
    expect(page.get_by_label("API key")).to_have_value(re.compile("^rk_"))
    assert not person.check_page()
    page.get_by_role("link", name="Done").click()
    page.get_by_role("link", name="Revoke Reports").click()
    page.get_by_role("button", name=re.compile("evoke")).click()
    expect(page.get_by_text("You have no API key.")).to_be_visible()
    page.get_by_role("link", name="Programs with access").click()
    expect(page.get_by_role("button", name="End the access of Desk assistant")).to_be_visible()
    assert not person.check_page()
    page.get_by_role("button", name="End the access of Desk assistant").click()
    expect(page.get_by_text("No program has access.")).to_be_visible()


def test_the_pages_are_german_after_one_click(site: Site, visitor: Callable[..., Visitor]) -> None:
    page = visitor(site.users["owner"]).page
    page.goto("/")
    page.get_by_role("button", name="Deutsch").click()
    expect(page.get_by_role("heading", name="Was möchten Sie wissen?")).to_be_visible()
    page.get_by_role("link", name="Verwaltung").click()
    expect(page.get_by_role("link", name="Datenquelle anlegen")).to_be_visible()
    page.goto("/admin/rag/ingestionjob/")
    filters = page.locator("#changelist-filter summary").all_inner_texts()
    assert len(filters) == len(set(filters)), "every filter has a name of its own"
