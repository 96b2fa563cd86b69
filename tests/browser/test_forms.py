"""Forms are sent once, whatever people do with their buttons, at a browser."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from orgs.api_keys import key_lifecycle
from orgs.models import ApiKey
from rag.models import GoldenQuestion
from rag.services.evaluation import golden_questions

from .site import LONG_PATH, Site
from .visitor import Visitor

_TWO_CLICKS = "(button) => { button.click(); setTimeout(() => button.click(), 100); }"


def delay(monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> None:
    """Make a function of the server slow enough for a second click."""
    function: Any = getattr(module, name)

    def slow(*args: Any, **kwargs: Any) -> Any:
        time.sleep(0.4)
        return function(*args, **kwargs)

    monkeypatch.setattr(module, name, slow)


def click_twice(button: Locator) -> None:
    button.evaluate(_TWO_CLICKS)


def test_two_clicks_send_a_form_once(
    site: Site, visitor: Callable[..., Visitor], monkeypatch: pytest.MonkeyPatch
) -> None:
    delay(monkeypatch, key_lifecycle, "issue")
    delay(monkeypatch, golden_questions, "validate")
    page = visitor(site.users["owner"]).page
    page.goto("/account/keys/new")
    page.get_by_label("Name").fill("Reports")
    page.get_by_role("checkbox").first.check()
    click_twice(page.get_by_role("button", name="Create the key"))
    expect(page.get_by_label("API key")).to_be_visible()  # a second request would say that there is a key of this name
    assert ApiKey.objects.filter(name="Reports").count() == 1
    page.goto("/admin/rag/goldenquestion/add/")
    page.get_by_label("Source").select_option(str(site.source.pk))
    page.locator("[name=question]").fill("Where does the zebra sleep?")
    page.locator("[name=path]").fill(LONG_PATH)
    click_twice(page.get_by_role("button", name="Save", exact=True))
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
