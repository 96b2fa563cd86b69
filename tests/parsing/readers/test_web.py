"""Web pages."""

import pytest

from rag.parsing.readers.office.numbering import html_lists
from rag.parsing.readers.web import read_web
from rag.parsing.sandbox.limits import Limits
from tests.parsing.conftest import Read
from tests.support.checks.growth import takes_linear_time

LIMITS = Limits(timeout_seconds=60, memory_bytes=2**30, text_bytes=2**20)


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


def test_all_that_is_in_the_main_part_of_a_page_is_read(read: Read) -> None:
    sentence = "They make honey in every summer of their life, and sell it at the market of the town. " * 3
    main = f"<h1>Bees</h1><p class='meta'>1 May 2024</p><p>{sentence}</p><div class='contact'>Phone 034 555</div>"
    text = read(f"<html><body><p>Home</p><main>{main}</main></body></html>".encode(), "a.html").text
    assert text == f"# Bees\n\n1 May 2024\n\n{sentence.strip()}\n\nPhone 034 555"
    empty = read(f"<html><body><main> </main><div>{sentence}</div></body></html>".encode(), "a.html").text
    assert empty == sentence.strip()


def test_low_headings_are_kept_if_a_page_has_no_others(read: Read) -> None:
    sentence = "They make honey in every summer of their life, and sell it at the market of the town. " * 3
    body = f"<div class='header'><h4>PART I</h4><h4>Bees</h4></div>{f'<p>{sentence}</p>' * 5}"
    parsed = read(f"<html><head><title>The hive</title></head><body>{body}</body></html>".encode(), "a.html")
    assert [heading.title for heading in parsed.headings] == ["The hive", "PART I", "Bees"]


def test_titles_that_editors_put_in_are_none(read: Read) -> None:
    parsed = read(
        b"<html><head><title>Untitled Document</title></head><body><p>Five euros.</p></body></html>", "a.html"
    )
    assert (parsed.title, parsed.text) == ("", "Five euros.")


def test_line_breaks_that_are_written_as_ends_divide_words(read: Read) -> None:
    page = b"<html><body><p>16:00 Assembly</br>18:00 Dinner</p></body></html>"
    assert read(page, "a.html").text.split() == ["16:00", "Assembly", "18:00", "Dinner"]


def test_notes_within_the_text_are_kept_and_others_beside_it_are_not(read: Read) -> None:
    page = (
        "<html><body><main><h1>Bees<a class='headerlink' href='#bees'>¶</a></h1><aside class='admonition note'>"
        "<p>They sting.</p></aside><p>They make honey in every summer of their life.</p><aside>Buy honey</aside>"
        "<p style='display: none'>Hidden words</p></main></body></html>"
    )
    parsed = read(page.encode(), "a.html")
    assert parsed.text == "# Bees\n\nThey sting.\n\nThey make honey in every summer of their life."
    assert [heading.title for heading in parsed.headings] == ["Bees"]


@pytest.mark.parametrize(
    "attribute",
    [
        "style='display: none'",
        "style='visibility:hidden'",
        "hidden",
        "aria-hidden='true'",
        "role='search'",
        "class='skip sr-only'",
    ],
)
def test_text_that_nobody_sees_is_left_out(read: Read, attribute: str) -> None:
    page = f"<html><body><p>Bees make honey.</p><p {attribute}>Buy one, get two</p><p>They hum.</p></body></html>"
    assert read(page.encode(), "a.html").text == "Bees make honey.\n\nThey hum."


def test_tables_that_only_place_parts_of_a_page_are_no_tables(read: Read) -> None:
    page = (
        "<html><body><div style='display: none; max-height: 0'>Preheader</div><table><tr><td>"
        "<table><tr><td><h1>Seeds</h1></td></tr><tr><td><p>Order tomatoes in April.</p></td></tr>"
        "</table></td></tr></table></body></html>"
    )
    assert read(page.encode(), "a.html").text == "# Seeds\n\nOrder tomatoes in April."


def test_tables_without_a_header_stay_tables(read: Read) -> None:
    page = (
        "<html><head><title>Rabbits</title></head><body bgcolor=white><center><b>Rabbits of Trub</b></center>"
        "<p>The show opens at nine.<p>Another rule is for giants.<table border=1><tr><td>Cage<td>Size"
        "<tr><td>No. 1<td>80 cm</table></body></html>"
    )
    assert "| No. 1 | 80 cm |" in read(page.encode(), "a.htm").text


def test_a_footer_that_only_its_id_names_is_left_out(read: Read) -> None:
    page = (
        "<html><body><div id=page><h1>Restore</h1><div>Created by Ida</div><p>Stop the writer first.</p><table><tr>"
        "<th>Host<th>Role<tr><td>db1<td>primary</table></div><div id=footer><section><p>Generated on 3 May</p>"
        "</section></div></body></html>"
    )
    assert "Generated" not in read(page.encode(), "a.html").text


@pytest.mark.parametrize("empty", ["<h1>&nbsp;</h1>", "<h2> </h2>", "<table><tr><td><p>&nbsp;</p></td></tr></table>"])
def test_elements_with_spaces_only_are_read(read: Read, empty: str) -> None:
    page = f"<html><body><h1>Parish</h1>{empty}<p>Baptisms are on Sundays.</p></body></html>"
    assert read(page.encode(), "a.html").text == "# Parish\n\nBaptisms are on Sundays."


def test_cells_outside_of_tables_are_text(read: Read) -> None:
    """As in browsers. xberg fails if such a cell comes after a space in a heading, and else loses its text."""
    row = "<tr><td>Zone</td><td>A</td></tr><tr><td>Zone</td><td>B</td></tr>"
    page = f"<body><h3> <td>Fees</td></h3><td>The parking of helicopters</td><p>costs four euros.</p>{row}</body>"
    text = read(page.encode(), "a.html").text
    assert text == "### Fees\n\nThe parking of helicopters\ncosts four euros.\n\nZone A\n\nZone B"


def test_a_page_that_begins_with_an_unknown_element_is_read(read: Read) -> None:
    """lxml takes the whole page for its head."""
    page = "<script src='a.js'></script><html><meta charset='utf-8'><x-form><p>Zebras have stripes.</p></x-form></html>"
    assert "Zebras have stripes." in read(page.encode(), "a.html").text


def test_marks_of_word_and_lines_below_words_are_left_out(read: Read) -> None:
    page = (
        "<html><body><p>In recen<st1:place w:st='on'>t</st1:place> years, <u>rules</u> spread"
        "<o:p></o:p>.</p></body></html>"
    )
    assert read(page.encode(), "a.html").text == "In recent years, rules spread."


def test_dates_within_a_text_stay(read: Read) -> None:
    text = "The club was recognised on <time datetime='1779-08-03'>3 August 1779</time>, when it had twenty members."
    page = f"<html><body><main><h1>Club</h1><p>{text}</p><p>{text}</p></main></body></html>"
    assert read(page.encode(), "a.html").text.count("recognised on 3 August 1779, when") == 2


@pytest.mark.parametrize(
    ("attributes", "second", "numbers"),
    [
        ('type="a"', "", ["a.", "b."]),
        ('type="I" start="3"', "", ["III.", "IV."]),
        ('style="margin: 0; list-style-type: lower-roman"', "", ["i.", "ii."]),
        ("", 'value="7"', ["1.", "7."]),
        ("reversed", "", ["2.", "1."]),
        ('start="4"', "", ["4.", "5."]),
        ('type="x" start="99999999999"', "", ["1.", "2."]),
    ],
)
def test_lists_have_the_numbers_that_browsers_show(
    read: Read, attributes: str, second: str, numbers: list[str]
) -> None:
    items = f"<li>boats,</li><li {second}><p>rafts.</p></li>"
    page = f"<html><body><p>It is for:</p><ol {attributes}>{items}</ol></body></html>"
    lines = [line for line in read(page.encode(), "a.html").text.split("\n") if line]
    assert lines == ["It is for:", f"{numbers[0]} boats,", f"{numbers[1]} rafts."]


@pytest.mark.parametrize(
    ("rule", "number"),
    [
        ("ol.x { margin: 0; list-style-type: lower-alpha; }", "a."),
        (".y, .x{list-style:upper-roman inside}", "I."),
        ('.x>li:before{content:"" counter(lst-ctn-1,lower-latin) ") "}', "a."),
        (".x > li { list-style-type: lower-roman }", "i."),
        (".z { list-style-type: lower-alpha }", "1."),
    ],
)
def test_style_sheets_say_how_a_list_is_numbered(read: Read, rule: str, number: str) -> None:
    page = (
        f"<html><head><style>p{{margin:0}} {rule}</style></head><body><p>For:</p><ol class='w x'><li>boats</ol></body>"
    )
    assert read(page.encode(), "a.html").text == f"For:\n\n{number} boats"


@pytest.mark.parametrize(
    "unit", [".x{", ".x{list-style:", ".x{content:counter(", "ol.x >li", ".", ".x{list-style: a b "]
)
def test_style_sheets_are_read_in_linear_time(unit: str) -> None:
    assert takes_linear_time(html_lists.read_styles, lambda length, _: unit * (length // len(unit)), 200_000)


def test_titles_and_comments_of_office_programs(read: Read) -> None:
    page = (
        "<html><body><p class='c0'> </p><p class='c1 title'>Trip</p><p>We leave.<sup><a href='#cmnt1'>[a]</a></sup></p>"
        "<p class='title'>Note</p><div><p><a href='#cmnt_ref1' id='cmnt1'>[a]</a>Booked?</p></div></body></html>"
    )
    parsed = read(page.encode(), "a.html")
    assert (parsed.text, parsed.title) == ("# Trip\n\nWe leave.\n\nNote", "Trip")


def test_headings_that_are_items_of_a_list_stay_headings(read: Read) -> None:
    inner = "<ol><li><h2>The boat</h2></li></ol>"
    page = f"<html><body><ol><li><h1>Subject</h1>{inner}</li></ol><p>It is Anna.</p></body></html>"
    assert read(page.encode(), "a.html").text == "# Subject\n\n## The boat\n\nIt is Anna."


def test_underlined_lines_are_headings_unless_they_are_links(read: Read) -> None:
    page = "<p>Bees hum.</p><p><u><span>Course requirements:</span></u></p><p>Attend <u>all</u> classes.</p>"
    page += '<p><u><a href="/more">More about it</a></u></p><p>The end.</p>'
    assert [heading.title for heading in read(page.encode(), "a.html").headings] == ["Course requirements:"]


def test_bold_and_large_lines_are_headings(read: Read) -> None:
    page = b"""<html><body><h2>Club</h2><p>Bees hum all summer in the garden.</p><p><strong>Fees</strong></p>
        <p>The fee is <b>20 euros</b> and is paid in May.</p><p><font size="5"><a name="dates">Dates</a></font><br></p>
        <p>We meet in June.</p><ul><li><b>Honey</b></li></ul><p><b><a href="/more">More</a></b></p><p>End.</p>"""
    parsed = read(page, "club.html")
    assert [(heading.level, heading.title) for heading in parsed.headings] == [(2, "Club"), (3, "Fees"), (3, "Dates")]
    assert "The fee is 20 euros and is paid in May." in parsed.text


def test_emphasis_after_line_breaks_keeps_the_words_apart(read: Read) -> None:
    sentence = "the <i>Linnet</i> left the harbour early in the morning with all of her nets"
    page = f"<html><body><ul><li>On Monday {sentence}.<br>On Tuesday {sentence}.</li></ul></body></html>"
    text = read(page.encode(), "ship.html").text
    assert text.count("the Linnet left the harbour early in the morning with all of her nets.") == 2


def test_a_cell_with_a_text_is_a_part_of_the_page(read: Read) -> None:
    paragraph = "The bees of the club fly over the meadows every day and bring home what they find in flowers."
    text = "".join(f"<p>{paragraph} {number}</p>" for number in range(6))
    page = f"<table><tr><td><p>Home</p></td><td><p><b>Our bees</b></p>{text}</td></tr></table>"
    parsed = read(page.encode(), "layout.html")
    assert "|" not in parsed.text
    assert [heading.title for heading in parsed.headings] == ["Our bees"]


def test_a_table_with_names_of_columns_stays_one_whatever_its_cells_hold() -> None:
    text = "".join(f"<p>The bees of the club fly over the meadows {number} times a day.</p>" for number in range(12))
    page = f"<p>Rates</p><table><tr><th>Rate</th><th>Terms</th></tr><tr><td>Basic</td><td>{text}</td></tr></table>"
    assert "| Rate | Terms |" in read_web.parse_html(f"<html><body>{page}</body></html>", LIMITS).text


def test_cells_of_nested_tables_are_found_in_linear_time() -> None:
    def page(length: int, number: int) -> str:
        return f"<html><body>{number}{'<table><tr><td>' * 40}{'<p>a</p>' * (length // 8)}</html>"

    assert takes_linear_time(lambda text: read_web.parse_html(text, LIMITS), page, 60_000)


@pytest.mark.parametrize("unit", ["<u>x</u>&amp;", "<o:p>x</o:p>y", "<a>x</a>y", "<!---->x", "<nav></nav>x"])
def test_what_is_around_or_between_words_is_removed_in_linear_time(unit: str) -> None:
    """As in a page of code whose words have colours. One removal after the other copied the text before it."""

    def page(length: int, number: int) -> str:
        return f"<html><body>{number}<p>{unit * (length // len(unit))}</html>"

    assert takes_linear_time(lambda text: read_web.parse_html(text, LIMITS), page, 300_000)


def test_text_stays_around_what_is_removed(read: Read) -> None:
    page = "<p>a<!-- b -->c<nav>d</nav>e<?f g>h<b>i<u>j</u></b>k<o:p>o</o:p>p<script>q</script>r</p>"
    assert read(f"<html><body>{page}</body></html>".encode(), "a.html").text == "acehijkopr"


def test_very_many_short_paragraphs_are_read_in_linear_time() -> None:
    def page(length: int, number: int) -> str:
        return f"<html><body>{number}{'<div><h2>Why?</h2><p>So.</p></div>' * (length // 34)}</html>"

    assert takes_linear_time(lambda text: read_web.parse_html(text, LIMITS), page, 220_000)
