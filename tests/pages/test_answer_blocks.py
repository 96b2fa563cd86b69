"""How an answer is laid out: Markdown's lists, tables, headings and code, and nothing of a document as HTML."""

import re

import pytest
from django.template.loader import render_to_string

from rag.pages.rendering.answer_blocks import divide
from rag.pages.rendering.answer_rendering import show_blocks
from tests.support.checks.growth import takes_linear_time

TEXT = """# Feeding
The zebra eats **twice** a day.
It needs `hay`:
- grass [1]
  and leaves
  - in winter: hay

Then:

* <b>carrots</b>

3. Open the gate
4. Wait

| animal | weight |
| --- | ---: |
| zebra | 300 kg |
| a\\|b | <script>alert(1)</script> |

```sh
feed --now | tee -a "- log"
```
1990 was a dry year."""


def render(text: str) -> str:
    html = render_to_string("pages/answer_text.html", {"blocks": show_blocks(text)})
    return re.sub(r">\s*\n\s*<", "><", html)


def test_lists_tables_headings_and_code_become_html() -> None:
    html = render(TEXT)
    for expected in (
        '<p class="answer-heading">Feeding</p>',
        "<p>The zebra eats <strong>twice</strong> a day.\nIt needs <code>hay</code>:</p>",
        '<ul><li>grass [1]\nand leaves</li><li class="is-nested">in winter: hay</li></ul>',
        "<ul><li>&lt;b&gt;carrots&lt;/b&gt;</li></ul>",
        '<ol start="3"><li>Open the gate</li><li>Wait</li></ol>',
        '<th scope="col">animal</th><th scope="col">weight</th>',
        "<td>zebra</td><td>300 kg</td>",
        "<td>a|b</td><td>&lt;script&gt;alert(1)&lt;/script&gt;</td>",
        "<code>feed --now | tee -a &quot;- log&quot;</code></pre>",
        "<p>1990 was a dry year.</p>",
    ):
        assert expected in html, html


def test_marks_of_emphasis_escapes_and_links_are_read_and_not_shown() -> None:
    html = render('+ Enter *the code* in _Settings_\n+ [the form](https://forms.example/a_b "Form") for editors\\*')
    assert "<li>Enter <em>the code</em> in <em>Settings</em></li>" in html
    assert "<li>the form (https://forms.example/a_b) for editors*</li>" in html
    for text in ("2 * 3 * 4", "a_b_c and snake_case", "https://a.example/_x_/y", "*open", "`*code*`"):
        assert "<em>" not in render(text)


def test_every_word_of_an_answer_is_shown() -> None:
    """Also of what only looks like it: a table without a rule, a code block without an end, a lone bar or number."""
    for text in ("| a | b |\nc", "```\ncode", "- ", "1.", "|", "#", "a\n---\nb", "**open", "-\n- a\n\n\n- b"):
        words = re.findall(r"\w+", text)
        shown = re.sub(r"<[^>]*>", " ", render(text))
        assert re.findall(r"\w+", shown) == words, text


def test_headings_end_before_their_marks() -> None:
    headings = {"# a": "a", "## a # b ##  ": "a # b", "# a#": "a", "# #": "#", "#a": "#a"}
    for line, text in headings.items():
        assert re.sub(r"<[^>]*>", "", render(line)).strip() == text, line
    # Each of the spaces could belong to the heading or to its end: 20,000 took minutes.
    spaces = " " * 200_000
    assert render(f"# a{spaces}\x01").count("a") >= 1


@pytest.mark.parametrize("block", ["a\n\n", "\n\n- a\n\n"])
def test_long_answers_are_divided_in_linear_time(block: str) -> None:
    assert len(list(divide(block * 20))) == 20
    assert takes_linear_time(lambda text: list(divide(text)), lambda length, _: block * length, 4_000)


def test_an_underlined_heading_opens_no_code_and_a_fence_is_closed_by_its_own_character() -> None:
    html = render("Feeding\n~~~~~~~\nTwice a day.\n\n```\n~~~\nfeed\n```\nDone.")
    assert "<p>Feeding\n~~~~~~~\nTwice a day.</p>" in html
    assert "<code>~~~\nfeed</code>" in html
    assert "<p>Done.</p>" in html


def test_code_shows_controls_of_the_direction_of_writing() -> None:
    """They would hide the order in which it is executed. Sentences from right to left may need them."""
    html = render("Run `rm \u202ea`:\n\n```\nif x: #\u2066 }\n```\n\nThe \u202bword\u202c is short.")
    assert "<code>rm ‹U+202E›a</code>" in html
    assert "<code>if x: #‹U+2066› }</code>" in html
    assert "The \u202bword\u202c is short." in html
