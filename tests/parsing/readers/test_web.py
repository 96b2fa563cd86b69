"""Web pages."""

from tests.parsing.conftest import Read


def test_web_pages_have_headings_and_tables_but_no_navigation(read: Read) -> None:
    page = (
        "<html><head><title>Bees</title><script>let x = 'no';</script></head><body><nav><a href=/>Home</a></nav>"
        "<main><h1>Bees</h1><p>They make <b>honey</b>.</p><h2>Yield</h2><table><tr><th>Year</th><th>kg</th></tr>"
        "<tr><td>2020</td><td>31</td></tr></table></main><footer>Imprint</footer></body></html>"
    )
    parsed = read(page.encode(), "a.html")
    assert parsed.title == "Bees"
    assert [heading.title for heading in parsed.headings] == ["Bees", "Yield"]
    assert "They make honey." in parsed.text
    assert "| 2020 | 31 |" in parsed.text
    assert not any(word in parsed.text for word in ("Home", "Imprint", "let x", "<", "---\n\n"))


def test_the_title_of_a_web_page_is_part_of_its_text(read: Read) -> None:
    parsed = read(b"<html><head><title>Honey prices</title></head><body><p>Five euros.</p></body></html>", "a.html")
    assert parsed.text == "# Honey prices\n\nFive euros."
