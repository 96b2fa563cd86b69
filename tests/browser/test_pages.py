"""Every page, for every kind of account: no link that fails, no barrier, nothing cut off, no foreign machine."""

from collections.abc import Callable, Iterator

from django.test import Client
from playwright.sync_api import expect

from .crawl import PageFound, crawl
from .site import QUESTION, Site
from .visitor import Visitor

STAFF = ("owner", "editor", "superuser")


def test_every_link_opens_and_every_page_is_accessible_and_fits(site: Site, visitor: Callable[..., Visitor]) -> None:
    wrong: list[str] = []
    looked_at: set[str] = set()
    filters_seen: set[tuple[str, ...]] = set()
    person = visitor()
    for role in ("member", *STAFF):
        client = Client()
        client.force_login(site.users[role])
        client.post("/", {"question": QUESTION})
        pages, problems = crawl(client, "/", *(["/admin/"] if role in STAFF else []), filters_seen=filters_seen)
        assert "history" in pages, "links were followed"
        wrong += [f"{role}: {text}" for text in problems]
        person.use_session(client)
        for url in new_pages(pages, looked_at):
            person.open(url)
            wrong += [f"{url}: {text}" for text in person.check_page()]
    assert not wrong, "\n".join(wrong)


def test_the_page_that_sends_a_saml_response_again_is_accessible(site: Site, visitor: Callable[..., Visitor]) -> None:
    stranger = visitor()
    stranger.page.route("**/continue*.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    stranger.open("/sign-in")
    stranger.page.evaluate(
        """address => {
          const form = document.createElement("form");
          Object.assign(form, { method: "post", action: address });
          document.body.append(form);
          form.submit();
        }""",
        f"/sign-in/saml/{site.provider.pk}/response",
    )
    expect(stranger.page.get_by_role("button", name="Continue")).to_be_visible()
    assert stranger.check_page() == []


def new_pages(pages: dict[str, PageFound], looked_at: set[str]) -> Iterator[str]:
    """The pages that no account has looked at. Pages of the admin consist of the same parts: those with a new one."""
    for name, page in pages.items():
        parts = page.parts if name.startswith("admin:") else {name}
        if not parts <= looked_at:
            looked_at |= {name, *page.parts}
            yield page.url
