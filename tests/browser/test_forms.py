"""Forms are sent once, whatever people do with their buttons, at a browser."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from orgs.api_keys import key_lifecycle
from orgs.models import ApiKey
from rag.models import GoldenQuestion
from rag.services.evaluation import golden_questions

from .site import LONG_PATH, Site
from .visitor import Visitor

_CLICKED = "clicked twice"
_TWO_CLICKS = (
    f"(button) => {{ button.click(); setTimeout(() => {{ button.click(); console.log('{_CLICKED}'); }}, 100); }}"
)


def hold(monkeypatch: pytest.MonkeyPatch, page: Page, module: object, name: str) -> None:
    """Let a function of the server wait until the page has seen the second click."""
    function: Any = getattr(module, name)
    clicked = threading.Event()
    page.on("console", lambda message: clicked.set() if message.text == _CLICKED else None)

    def wait_and_call(*args: Any, **kwargs: Any) -> Any:
        assert clicked.wait(20)
        return function(*args, **kwargs)

    monkeypatch.setattr(module, name, wait_and_call)


def test_two_clicks_send_a_form_once(
    site: Site, visitor: Callable[..., Visitor], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = visitor(site.users["owner"]).page
    hold(monkeypatch, page, key_lifecycle, "issue")
    page.goto("/account/keys/new")
    page.get_by_label("Name").fill("Reports")
    page.get_by_role("checkbox").first.check()
    page.get_by_role("button", name="Create the key").evaluate(_TWO_CLICKS)
    expect(page.get_by_label("API key")).to_be_visible()  # a second request would say that there is a key of this name
    assert ApiKey.objects.filter(name="Reports").count() == 1
    page.goto("/admin/rag/goldenquestion/add/")
    page.get_by_label("Source").select_option(str(site.source.pk))
    page.locator("[name=question]").fill("Where does the zebra sleep?")
    page.locator("[name=path]").fill(LONG_PATH)
    hold(monkeypatch, page, golden_questions, "validate")
    page.get_by_role("button", name="Save", exact=True).evaluate(_TWO_CLICKS)
    expect(page.get_by_text("was added successfully.")).to_have_count(1)
    assert GoldenQuestion.objects.filter(question="Where does the zebra sleep?").count() == 1


def test_a_form_that_is_shown_again_can_be_sent_again(site: Site, visitor: Callable[..., Visitor]) -> None:
    page = visitor(site.users["owner"]).page
    page.goto("/account/keys/new")
    send = "(form) => form.dispatchEvent(new Event('submit', { bubbles: true, cancelable: true }))"
    form = page.locator("main form")
    assert [form.evaluate(send) for _ in range(2)] == [True, False]
    page.evaluate("window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")  # after "Back"
    assert form.evaluate(send)
