"""A person in Chromium, who signs in with oidc-provider and signs out here or there."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, expect, sync_playwright

from . import data

_TIMEOUT_MILLISECONDS = 30_000


@contextmanager
def open_page(program: str, address: str) -> Iterator[Page]:
    """Open a page of a new browser whose relative addresses are the product's."""
    expect.set_options(timeout=_TIMEOUT_MILLISECONDS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_context(base_url=address, locale="en-GB").new_page()
        page.set_default_timeout(_TIMEOUT_MILLISECONDS)
        yield page
        browser.close()


def sign_in(page: Page, issuer: str) -> None:
    """Sign in from the product's own form; the provider asks for a name, a password and the consent."""
    page.goto("/sign-in")
    page.get_by_label("Address at your organisation").fill(data.EMAIL)
    page.get_by_role("button", name="Continue with single sign-on").click()
    page.wait_for_url(f"{issuer}/interaction/**")
    page.locator("input[name=login]").fill("ada-17")
    page.locator("input[name=password]").fill("any password: this provider accepts all")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()
    expect(page).to_have_url(re.compile(r"/$"))
    expect(page.get_by_text(data.EMAIL).first).to_be_attached()


def sign_out_here(page: Page, issuer: str) -> None:
    """Sign out of the product, which leads to the provider's sign-out and back."""
    page.goto("/")
    page.locator("form[action$='/sign-out'] button").first.evaluate("button => button.click()")
    page.wait_for_url(f"{issuer}/session/end*")
    page.get_by_role("button", name="Yes, sign me out").click()
    expect(page).to_have_url(re.compile(r"/sign-in"))
    expect_signed_out(page)


def sign_out_there(page: Page, issuer: str) -> None:
    """Sign out at the provider, which tells the product by its own request (back-channel logout)."""
    page.goto(f"{issuer}/session/end")
    page.get_by_role("button", name="Yes, sign me out").click()
    page.wait_for_url(f"{issuer}/session/end/success*")
    expect_signed_out(page)


def expect_signed_out(page: Page) -> None:
    """Check that the product asks to sign in again."""
    page.goto("/sign-in/token")
    expect(page).to_have_url(re.compile(r"/sign-in\?"))


def sign_in_with_saml(page: Page, issuer: str) -> None:
    """Sign in from the product's own form, at a provider of another site."""
    page.goto("/sign-in")
    page.get_by_label("Address at your organisation").fill(data.SAML_EMAIL)
    page.get_by_role("button", name="Continue with single sign-on").click()
    page.wait_for_url(f"{issuer}/sso*")
    page.get_by_role("button", name="Sign in as Ada").click()
    expect(page).to_have_url(re.compile(r"/$"))
    expect(page.get_by_text(data.SAML_EMAIL).first).to_be_attached()


def sign_out_of_saml_here(page: Page) -> None:
    """Sign out of the product, which leads to the provider's sign-out and back."""
    page.goto("/")
    with page.expect_request(lambda request: "/logout?SAMLRequest=" in request.url):
        page.locator("form[action$='/sign-out'] button").first.evaluate("button => button.click()")
    page.wait_for_url("**/sign-in")
    expect_signed_out(page)


def sign_out_of_saml_there(page: Page, issuer: str) -> None:
    """Sign out at the provider, which sends the browser through the product and back."""
    page.goto(f"{issuer}/logout")
    page.wait_for_url(f"{issuer}/logout?SAMLResponse*")
    expect_signed_out(page)
