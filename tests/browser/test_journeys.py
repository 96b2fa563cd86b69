"""What people do with the pages, at a browser."""

import io
import re
from collections.abc import Callable

import pytest
import zxingcpp
from PIL import Image
from playwright.sync_api import expect

from tests.pages.test_page_pictures import marked_box
from tests.parsing.files.pdfs import pdf
from tests.services.jobs.uploading import send, upload
from tests.support.factories import PASSWORD

from .site import QUESTION, Site
from .visitor import Visitor


@pytest.mark.parametrize("role", ["owner", "editor", "member"])
def test_any_account_signs_in_asks_follows_a_citation_and_finds_it_in_the_history(
    site: Site, visitor: Callable[..., Visitor], role: str
) -> None:
    person = visitor()
    person.sign_in(site.users[role].email, PASSWORD)
    page = person.page
    expect(page.get_by_role("link", name="Administration")).to_have_count(0 if role == "member" else 1)
    expect(page.get_by_label("Animals")).to_be_visible()
    page.get_by_label("Your question").fill(QUESTION)
    page.keyboard.press("Enter")
    answer = page.locator(".answer-text")
    expect(answer.locator(".cite").first).to_be_visible()
    expect(answer).to_contain_text("300 kilograms")
    expect(page).to_have_url(re.compile("/conversations/"))  # a reload shows the conversation
    conversation = page.url
    answer.locator(".cite").first.click()
    expect(page.locator("#passage")).to_contain_text("300 kilograms")
    expect(page.locator("#passage")).to_be_in_viewport()
    page.get_by_role("link", name="History").click()
    page.get_by_role("link", name=QUESTION).click()
    expect(page).to_have_url(conversation)


def test_a_citation_of_a_pdf_shows_its_page_with_the_passage_marked(
    site: Site, visitor: Callable[..., Visitor]
) -> None:
    send(site.world, site.source, upload("lions.pdf", pdf(["Ants are small.", "A lion weighs about 190 kilograms."])))
    reader = visitor(site.users["member"])
    page = reader.page
    page.goto("/")
    page.get_by_label("Your question").fill("How much does a lion weigh?")
    page.keyboard.press("Enter")
    page.locator(".answer-text .cite").first.click()
    expect(page.locator("#passage")).to_contain_text("190 kilograms")
    expect(page.locator(".facts")).to_contain_text("page 2")
    picture = page.get_by_role("img", name="The cited page of the file")
    expect(picture).to_have_js_property("complete", True)
    box = marked_box(Image.open(io.BytesIO(picture.screenshot())))
    assert box
    assert 40 < box[1] < 110, "the line at the top is marked"
    assert box[3] < 110
    assert not reader.check_page()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_reads_the_second_factor_code(site: Site, visitor: Callable[..., Visitor], theme: str) -> None:
    person = visitor(site.users["owner"])
    person.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    person.open("/admin/second-factor/")
    picture = person.page.get_by_role("img", name="QR code")
    box = picture.bounding_box()
    assert box
    # With its surroundings, as a camera sees it: a code needs a light margin.
    clip = {"x": box["x"] - 30, "y": box["y"] - 30, "width": box["width"] + 60, "height": box["height"] + 60}
    photo = Image.open(io.BytesIO(person.page.screenshot(clip=clip)))  # type: ignore[arg-type]
    (code,) = zxingcpp.read_barcodes(photo)
    assert code.text.startswith("otpauth://totp/")


def test_a_key_is_revoked_only_after_a_confirmation(site: Site, visitor: Callable[..., Visitor]) -> None:
    page = visitor(site.users["owner"]).page
    page.goto("/admin/orgs/apikey/")
    row = page.get_by_role("row", name="A key")
    row.get_by_role("checkbox").check()
    page.get_by_label("Action:").select_option("revoke")
    page.get_by_role("button", name="Run").or_(page.get_by_role("button", name="Go")).click()
    expect(page.get_by_role("heading", name="Revoke API keys?")).to_be_visible()
    page.get_by_role("button", name="Yes, revoke").click()
    expect(page.get_by_text("Revoked: 1.")).to_be_visible()
    expect(row).to_contain_text("revoked")


def test_two_settings_are_compared_and_a_manager_opens_the_search_trace(
    site: Site, visitor: Callable[..., Visitor]
) -> None:
    manager = visitor(site.users["owner"])
    page = manager.page
    page.goto("/")
    page.get_by_label("Your question").fill(QUESTION)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Search trace").click()
    expect(page.get_by_role("heading", name="Search trace")).to_be_visible()
    expect(page.get_by_text("used for the answer").first).to_be_visible()
    assert not manager.check_page()
    page.get_by_role("link", name="Compare").click()
    page.get_by_label("Your question").fill(QUESTION)
    page.get_by_role("group", name="Second setting").get_by_label("Search").select_option("lexical")
    page.get_by_role("button", name="Compare").click()
    for name in ("First setting", "Second setting"):
        column = page.get_by_role("region", name=name)
        expect(column).to_contain_text("300 kilograms")
        expect(column).to_contain_text("score")
        expect(column).to_contain_text("embed")
    assert not manager.check_page()
    reader = visitor(site.users["member"]).page
    reader.goto("/")
    reader.get_by_label("Your question").fill(QUESTION)
    reader.keyboard.press("Enter")
    expect(reader.locator(".cite").first).to_be_visible()
    expect(reader.get_by_role("button", name="Search trace")).to_have_count(0)
