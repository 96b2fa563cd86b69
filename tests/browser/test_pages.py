"""Every page, for every kind of account: no link that fails, no barrier, nothing cut off, no foreign machine."""

from collections.abc import Callable, Iterable, Iterator

from django.test import Client

from .crawl import crawl
from .site import QUESTION, Site
from .visitor import Visitor

STAFF = ("owner", "editor", "superuser")
# Django's pages that are the same for every model: one of each is looked at.
SAME_FOR_ALL = ("_history", "_delete", "app_list")


def test_every_link_opens_and_every_page_is_accessible_and_fits(site: Site, visitor: Callable[..., Visitor]) -> None:
    wrong: list[str] = []
    looked_at: set[str] = set()
    for role in ("member", *STAFF):
        client = Client()
        client.force_login(site.users[role])
        client.post("/", {"question": QUESTION})
        pages, problems = crawl(client, "/", *(["/admin/"] if role in STAFF else []))
        assert "history" in pages, "links were followed"
        wrong += [f"{role}: {text}" for text in problems]
        person = visitor(site.users[role])
        for url in new_pages(pages, looked_at):
            person.open(url)
            wrong += [f"{url}: {text}" for text in person.check_page()]
    assert not wrong, "\n".join(wrong)


def new_pages(pages: dict[str, str], looked_at: set[str]) -> Iterator[str]:
    """The pages of a kind that no account has looked at. A form to add a row is like the one to change it."""
    for name, url in pages.items():
        kind = kind_among(SAME_FOR_ALL, name) or name.replace("_add", "_change")
        if kind not in looked_at:
            looked_at.add(kind)
            yield url


def kind_among(endings: Iterable[str], name: str) -> str | None:
    return next((ending for ending in endings if name.endswith(ending)), None)
