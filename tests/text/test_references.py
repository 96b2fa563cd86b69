"""References in markup are read as plain words, and what only looks like one stays."""

import pytest

from rag.text.markup.references import as_words, is_restructured


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("See :doc:`the guide <guide>` and :ref:`first-steps`.", "See the guide and first steps."),
        ("Raised by :py:func:`~shop.cart.add` (:issue:`12`, :pep:`8`).", "Raised by `add` (issue 12, PEP 8)."),
        ("Set ``PORT = 1`` for |project_name|_ [#note]_.", "Set `PORT = 1` for project name."),
        ("`Tea <https://tea.example>`_, Coffee_ or `cocoa`__", "[Tea](https://tea.example), Coffee or cocoa"),
        ("{ref}`Boil it <boil>` as in [the manual][man][^1].", "Boil it as in the manual."),
        ("Send `PATCH /x/{id}`, or `{id}`, and `true`.", "Send `PATCH /x/{id}`, or `{id}`, and `true`."),
        ("xref:a.adoc[Boil], <<b,stir>> and [[Page|drink]].", "Boil, stir and drink."),
    ],
)  # fmt: skip
def test_references_are_words(text: str, words: str) -> None:
    assert as_words(text, is_restructured=True) == words


@pytest.mark.parametrize(
    "text",
    [
        "Columns such as | a | b | and `|x|_` in code.",
        "It is _very hot_ and snake_case_ stays; so do a[0][1] and [1][2].",
        "Call `f(x)` at 10:30, [here](https://tea.example) or <b>there</b>.",
        "Tables begin with rag_ and |pipes| are not references here.",
        "A slug has letters, digits, `-` and `_`, and `__` is `_` twice.",
    ],
)
def test_other_texts_stay(text: str) -> None:
    assert as_words(text, is_restructured=is_restructured(text)) == text
