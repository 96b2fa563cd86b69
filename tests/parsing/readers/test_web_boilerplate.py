"""What is left out of web pages: navigation, footers and questions about cookies, by their names."""

import pytest

from rag.parsing.readers.web import read_web
from rag.parsing.sandbox.limits import Limits
from tests.parsing.conftest import Read
from tests.support.checks.growth import takes_linear_time

LIMITS = Limits(timeout_seconds=60, memory_bytes=2**30, text_bytes=2**20)
LINKS = "".join(f'<a href="/{name}">{name}</a> ' for name in ("Home", "Prices", "Contact"))
TEXT = "<h1>Honey</h1><p>A jar of honey costs five euros, in the shop and at the market.</p>"
SHOWN = "# Honey\n\nA jar of honey costs five euros, in the shop and at the market."


def _page(*parts: str) -> bytes:
    return f"<html><body>{''.join(parts)}</body></html>".encode()


@pytest.mark.parametrize(
    "part",
    [
        f'<div class="main-menu">{LINKS}</div>',
        f'<div id="nav">{LINKS}</div>',
        f'<div id="site_footer"><h5>Pages</h5>{LINKS} © 2020 Bees</div>',
        '<div id="cookie-bar">We use cookies. <button>Accept</button></div>',
        '<div class="cc-window" role="dialog">We use cookies.</div>',
    ],
)
def test_navigation_is_left_out_by_its_name(read: Read, part: str) -> None:
    assert read(_page(part, TEXT), "a.html").text == SHOWN
    assert read(_page(TEXT, part), "a.html").text == SHOWN


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ('<div class="menu">Soup of the day <a href="/soup">4</a> <a href="/a">a</a> <a href="/b">b</a></div>', "Soup"),
        (f'<div class="menu"><h2>Tea</h2>{LINKS}</div>', "Tea"),
        ('<div class="nav">' + '<a href="/a">How bees find their way home in the evening of a day</a>' * 3, "evening"),
        ('<div class="card-footer">Sold by the bakery in Trub</div>', "bakery"),
        ('<div id="cookie-7" class="product">Cookies with nuts cost 3 euros.</div>', "nuts"),
        (f'<div class="cookie-bar">{"Our cookies are baked with honey. " * 20}</div>', "baked"),
    ],
)
def test_other_parts_with_such_names_are_kept(read: Read, part: str, text: str) -> None:
    assert text in read(_page(TEXT, part), "a.html").text


def test_a_page_that_has_only_navigation_is_read(read: Read) -> None:
    assert read(_page(f'<div class="menu">{LINKS}</div>'), "a.html").text.split() == ["Home", "Prices", "Contact"]


def test_what_generators_of_sites_read_above_a_page_is_left_out(read: Read) -> None:
    assert read(b"---\nlayout: default\ntitle: Bees\n---\n" + _page(TEXT), "a.html").text == SHOWN


@pytest.mark.parametrize(
    ("start", "part"),
    [
        ("---\n", "a: b\n"),
        ("<div>", "<p class='menu'><a href='/a'>a</a></p>"),
        ("<ul class='menu'>", "<li><a href='/a'>a</a>"),
    ],
)
def test_a_page_is_read_in_linear_time(start: str, part: str) -> None:
    def page(length: int, number: int) -> str:
        return f"{start}{number}{part * (length // len(part))}<p>Bees</p>"

    assert takes_linear_time(lambda text: read_web.parse_html(text, LIMITS), page, 60_000)
