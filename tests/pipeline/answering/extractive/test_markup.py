"""Extractive answers from documents with HTML in Markdown, tables of contents, steps and examples."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rag.parsing.parse_markdown import parse_markdown
from rag.pipeline.answering.extractive.extract import extract_quotes
from rag.pipeline.answering.extractive.render_quotes import render_quotes
from rag.pipeline.answering.generate import BY_TITLE
from tests.support.passages import answer, passage

_PIECES = (
    *("!", "&#33;", "[a]", "[a [b] c]", "(https://x.example/", "a_(1)", ".png", ' "t (u)"', ")", "`"),
    *("<img src=x ", ">", "\n", " ", "\\", "| ", "bell "),
)

_CODE_BLOCK = re.compile(r"^```\n.*?^```$", re.DOTALL | re.MULTILINE)

HANDBOOK = """\
Table of contents:

- [How do I clean the kettle?](#kettle)
- [Where is the tea?](#tea)

<h2 id="kettle">How do I clean the kettle? <a class="anchor" href="#kettle" title="Permalink">¶</a></h2>

Boil vinegar in it, and <strong>rinse</strong> it twice.

<h2 id="tea">Where is the tea? <a class="anchor" href="#tea" title="Permalink">¶</a></h2>

<p class="info">It is kept in <code>Box 3</code> of the pantry.</p>
"""


def test_headings_in_html_select_their_section_and_a_table_of_contents_is_no_answer() -> None:
    page = passage(HANDBOOK)
    assert answer("How do I clean the kettle?", page) == "Boil vinegar in it, and rinse it twice. [1]"
    assert answer("Where is the tea?", page) == "It is kept in `Box 3` of the pantry. [1]"


def test_a_link_over_several_lines_is_shown_as_its_text() -> None:
    page = passage(
        "## Where is the tea?\n\nIt is on the shelf that the plan shows ([Plan\nof\npantry](plan.md)), on the left."
    )
    assert answer("Where is the tea?", page) == (
        "It is on the shelf that the plan shows (Plan of pantry), on the left. [1]"
    )


def test_tags_within_code_stay() -> None:
    page = passage("## How do I mark a cup?\n\nWrite `<em>cup</em>` on it, <em>not</em> List<String>.")
    assert answer("How do I mark a cup?", page) == "Write `<em>cup</em>` on it, not List<String>. [1]"


def test_characters_are_shown_instead_of_their_names_outside_of_code() -> None:
    page = passage("Choose Kitchen &gt; Tea &amp; cups, not &lt;b&gt; or `&amp;`.")
    assert answer("Where is the tea chosen?", page) == "Choose Kitchen > Tea & cups, not &lt;b&gt; or `&amp;`. [1]"


def test_a_step_is_quoted_with_the_other_steps() -> None:
    page = passage(
        "## Coffee\n\n1. Fill the tank.\n2. Empty the tray of the grinder.\n3. Press the button.\n\n"
        + "Enjoy it. " * 200
    )
    steps = "Coffee:\n1. Fill the tank.\n2. Empty the tray of the grinder.\n3. Press the button. [1]"
    assert answer("What about the tray of the grinder?", page) == steps


def test_a_section_of_a_sentence_and_a_command_is_quoted_with_the_command() -> None:
    page = passage(
        "## Cleaning\n\nDelete old entries from the archive.\n\n```\nkettle --clean\n```\n\n## Start\n\nTea."
    )
    shown = answer("How do I delete old entries?", page)
    assert shown == "Delete old entries from the archive.\n```\nkettle --clean\n```\n[1]"
    long_block = passage(
        f"## Cleaning\n\nDelete old entries from the archive.\n\n```\n{'kettle --clean ' * 100}\n```\n"
    )
    assert answer("How do I delete old entries?", long_block) == "Delete old entries from the archive. [1]"


def test_tildes_below_a_heading_are_no_code() -> None:
    page = passage("Keys of the house\n~~~~~~~~~~~~~~~~~\n\nThe porter has them.\n\nCups\n~~~~\n\nThey are blue.")
    assert answer("Who has the keys of the house?", page) == "The porter has them. [1]"


def test_numbered_questions_are_headings() -> None:
    faq = passage(
        "24. Where is the tea of the house kept?\n\n   The porter has it.\n\n25. May I sell cups\n    of the house?\n\n"
        "   No. They are lent."
    )
    assert answer("Where is the tea kept?", faq) == "The porter has it. [1]"
    assert answer("May I sell cups?", faq) == "No. They are lent. [1]"


def test_references_are_shown_as_words() -> None:
    page = passage("House\n=====\n\nThe porter rings |the_bell|_ as :ref:`duties <duties>` say, with ``ring --loud``.")
    assert answer("Who rings?", page) == "The porter rings the bell as duties say, with `ring --loud`. [1]"


def test_a_sentence_that_only_says_where_to_read_on_is_no_answer() -> None:
    page = passage(
        "# Tea\n\n## Backups\n\nLearn how to store the tea safely.\n\n## Boxes\n\nTea is stored safely in a dry box."
    )
    assert answer("How is the tea stored safely?", page) == "Tea is stored safely in a dry box. [1]"


def test_targets_of_links_are_not_shown() -> None:
    page = passage('## Bell\n\nRing the bell with the [rope][rope].\n[rope]: https://rope.example "Rope of the bell"')
    assert answer("How do I ring the bell?", page) == "Ring the bell with the rope. [1]"


def test_tags_alone_on_a_line_divide_no_section() -> None:
    page = passage(
        '## Bell\n\nTurn the wheel of the bell.\n\n<aside class="tip">\n\nIt is loud.\n\n</aside>\n\n'
        '<TabItem value="hall">\n\nThen pull the rope of the bell.\n\n</TabItem>'
    )
    assert answer("How do I ring the bell?", page) == (
        "Turn the wheel of the bell.\nIt is loud.\nThen pull the rope of the bell. [1]"
    )


def test_preformatted_html_is_code() -> None:
    page = passage(
        '## Bell\n\nRing the bell like this:\n\n<pre><code class="bash">bell --loud &lt;name&gt;\n'
        "bell --stop</code></pre>"
    )
    assert answer("How do I ring the bell?", page) == (
        "Ring the bell like this:\n```\nbell --loud <name>\nbell --stop\n```\n[1]"
    )


@pytest.mark.parametrize("mark", ["&#96;&#96;&#96;", "`<b></b>``", "<b></b>```"])
def test_preformatted_html_does_not_end_the_code_block_that_shows_it(mark: str) -> None:
    page = passage(
        f"## Bell\n\nRing the bell like this:\n\n<pre>bell\n{mark}\n![bell](https://bells.example/a.png)</pre>"
    )
    tokens = MarkdownIt().parse(answer("How do I ring the bell?", page))
    assert "bell" in next(token.content for token in tokens if token.tag == "code")
    assert not [child for token in tokens for child in token.children or () if child.type == "image"]


def test_sentences_between_long_code_blocks_are_no_code() -> None:
    page = passage(
        "```\nhouse {\n\tbell {\n\t\tloud = 1;\n\t}\n}\n```\n\n"
        "[Ring the bell](bell) without a rope; but [be quiet](house):\n\n```\nbell {\n\trope = 0;\n}\n```"
    )
    assert answer("How do I ring the bell without a rope?", page) == (
        "Ring the bell without a rope; but be quiet:\n```\nbell {\n\trope = 0;\n}\n```\n[1]"
    )


def test_pictures_with_titles_and_marks_of_notes_are_not_shown() -> None:
    picture = '![The bell](./bell.png "Ring the bell. Then wait (a minute).")'
    page = passage(f'## Bell\n\n{picture}\nRing it at the [door](../door.md "Our door") twice.&#x20;\n')
    assert answer("How do I ring the bell?", page) == "Ring it at the door twice. [1]"
    note = passage("## Bell\n\n::: tip Good to know\nThe rope of the bell is in the tower.\n:::\n")
    assert answer("Where is the rope of the bell?", note) == "The rope of the bell is in the tower. [1]"


def test_a_colon_in_bold_introduces_what_follows() -> None:
    page = passage("## Bell\n\n✅ **What a bell needs:**\n\n- a rope\n- a tower")
    assert answer("What does a bell need?", page) == "✅ **What a bell needs:**\n- a rope\n- a tower [1]"
    alone = passage("## Bell\n\nIt needs a rope and a tower.\n\n✅ **What a bell needs:**\n\n![A bell](bell.png)")
    assert answer("What does a bell need?", alone) == "It needs a rope and a tower. [1]"


def test_the_title_of_what_is_folded_away_is_a_heading_and_no_answer() -> None:
    night = "<details>\n\n<summary>May I ring the bell at night?</summary>\n\nNo. It wakes the porter.\n\n</details>"
    noon = "<details><summary>Who rings the bell?</summary>\n\nThe porter rings it at noon.\n\n</details>"
    page = passage(f"# Bells\n\n{night}\n\n{noon}")
    assert answer("Who rings the bell?", page) == "The porter rings it at noon. [1]"
    assert answer("May I ring the bell at night?", page) == "No. It wakes the porter. [1]"


def test_a_backslash_that_breaks_a_line_is_not_shown() -> None:
    page = passage("## Opening\n\nThe house opens at 7h.\\\nThe porter has the key.\\\nThere is no other key.")
    quoted = "The house opens at 7h. The porter has the key. There is no other key. [1]"
    assert answer("When does the house open?", page) == quoted
    end = passage("## The key\n\nThe house has a porter. The key hangs on his belt.\\\n\n## Bells\n\nThey ring.")
    assert answer("Where is the key?", end) == "The house has a porter. The key hangs on his belt. [1]"


def test_steps_with_pictures_between_them_are_one_quote() -> None:
    page = passage("## Bell\n\nRing the bell:\n\n- Take the rope\n\n![rope](rope.png)\n\n- Pull the rope\n")
    assert answer("How do I ring the bell?", page) == "Ring the bell:\n- Take the rope\n- Pull the rope [1]"


@given(st.lists(st.sampled_from(_PIECES), max_size=14))
@example(["\n", "a_(1)", "!", "[a]", "\n", "&#33;", "\n", "a_(1)"])  # most of its lines look like code
def test_no_quote_has_a_picture_that_a_client_loads(pieces: list[str]) -> None:
    text = "".join(pieces)
    for page in (
        f"## Bell\n\nThe bell {text} rings at noon.",
        f"| what | when |\n| --- | --- |\n| bell {text} | noon |",
    ):
        quoted = answer("When does the bell ring?", passage(page))
        outside_code = _CODE_BLOCK.sub("", quoted)
        assert "![" not in outside_code
        assert "<img" not in outside_code


@pytest.mark.parametrize(
    ("page", "quoted"),
    [
        ("The bell rings at noon as [the form says. It is good!](form.md)[x]({}) for all.", "good! [x]({}) for all."),
        ("The bell rings at noon <image src={}>.", "noon < image src={}>."),
        ("~~~~ The bell rings at noon:\n\n```\nbell noon\n~~~~\n![x]({})\n```\n", "! [x]({})"),
        ("<!-- The bell rings at noon:\n\n```\nbell noon\n-->\n\n![x]({})\n```\n", "! [x]({})"),
        ("<form>The bell rings at noon:\n\n```\nbell noon\n<img src={}>\n```\n", "< img src={}>"),
        ("<form>The bell rings at noon:\n\n```\nbell noon\n<p style='a:url({})'>\n```\n", "< p style='a:url({})'>"),
        ("The bell rings at noon:\n\n```\nbell noon\n![x]({})\n```\n", "noon\n![x]({})\n```"),
        ("The bell rings at noon:\n\n```\nbell noon\n<p style='{}'>\n```\n", "noon\n<p style='{}'>\n```"),
    ],
    ids=[
        "a link over several sentences",
        "another element",
        "tildes",
        "a comment",
        "a form",
        "a style",
        "code",
        "style in code",
    ],
)
def test_no_client_loads_a_picture_of_a_hostile_page(page: str, quoted: str) -> None:
    address = "https://x.example/a.png"
    rings = answer("When does the bell ring?", passage(page.format(address)))
    assert quoted.format(address) in rings
    assert "<im" not in MarkdownIt("commonmark").render(rings)


def test_links_that_lead_to_no_web_address_are_shown_as_text() -> None:
    page = "The bell rings [at noon](javascript:alert(1)) in [the tower](Tower_(old).md)."
    assert answer("When does the bell ring?", passage(page)) == "The bell rings at noon in the tower. [1]"


def test_controls_of_the_direction_of_writing_end_with_their_quote() -> None:
    page = passage("The \u202dbell\u202c rings at \u202enoon \u2067and at night.", title="\u202dTower")
    rings = render_quotes(extract_quotes("When does the bell ring?", [page]), BY_TITLE.format_citation)
    assert rings == "The \u202dbell\u202c rings at \u202enoon \u2067and at night.\u2069\u202c (\u202dTower\u202c)"


@pytest.mark.parametrize(
    ("entity", "shown"),
    [
        ("&#27;", ""),
        ("&#x1b;", ""),
        ("&#64976;", ""),
        ("&#10;", " "),
        ("&NewLine;", " "),
        ("&#128;", "€"),
        ("&lt;", "&lt;"),
    ],
)
def test_entities_of_controls_are_left_out_and_begin_no_line(entity: str, shown: str) -> None:
    rings = answer("When does the bell ring?", passage(f"The bell ({entity}) rings at noon."))
    assert rings == f"The bell ({shown}) rings at noon. [1]"
    assert parse_markdown(f"# The {entity} bell\n").headings[0].title == f"The {shown} bell"


def test_a_definition_is_shown_with_what_it_defines() -> None:
    page = passage(
        "## Settings\n\n#### [`POT_SIZE=<n>`](#POT_SIZE) {#POT_SIZE}\n\n: How many cups of tea the pot holds."
    )
    shown = answer("How many cups of tea does the pot hold?", page)
    assert shown.startswith("`POT_SIZE=<n>`: How many cups of tea the pot holds.")


def test_short_forms_are_defined_by_what_they_are_short_for() -> None:
    text = "Write its CTN on each pot.\n\nThe _cup and tea number_ (short: CTN) counts pots.\n\nSay the CTN."
    assert answer("What is a CTN?", passage(text)).startswith("The _cup and tea number_ (short: CTN) counts pots.")


def test_a_command_without_an_introduction_is_shown_below_its_heading() -> None:
    text = "# Tasks\n\n## Upgrade the kettle\n\n```\n$ kettle upgrade\n```\n\n## Sell the kettle\n\nAsk us."
    shown = answer("How do I upgrade the kettle?", passage(text))
    assert shown.startswith("Upgrade the kettle:\n```\n$ kettle upgrade\n```")


def test_an_item_is_shown_below_the_item_that_introduces_it() -> None:
    others = "".join(f"    {number}. Pot {number} is for guests from far away.\n" for number in range(1, 9))
    rules = "    9. Tea is poured away if:\n        1. it is cold\n        2. it is green\n"
    shown = answer("Is green tea poured away?", passage(f"# Rules\n\n1. Pots\n{others}{rules}{others}"))
    assert shown == "Tea is poured away if:\n2. it is green [1]"


def test_lists_within_lists_are_indented() -> None:
    text = "# Tea\n\nMake tea like this:\n\n1. Boil:\n   - water\n   - milk\n2. Wait"
    assert answer("How do I make tea?", passage(text)) == (
        "Make tea like this:\n1. Boil:\n    - water\n    - milk\n2. Wait [1]"
    )
