"""Sentences end at the marks of each script."""

import pytest

from rag.text.sentences.split_sentences import split_sentences


@pytest.mark.parametrize(
    "sentences",
    [["Is it open?", "Yes."], ["متى يفتح المكتب؟", "يفتح في التاسعة."], ["何时开门？", "九点。"], ["حقا؟!", "نعم."]],
)
def test_sentences_end_at_the_marks_of_their_script(sentences: list[str]) -> None:
    assert split_sentences(" ".join(sentences)) == sentences
