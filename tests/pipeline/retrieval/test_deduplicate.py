"""Passages of different documents that say the same are returned once."""

import operator
import uuid

import numpy as np
import pytest

from rag.pipeline.retrieval.deduplicate import deduplicate
from tests.support.passages import passages

ENGLISH = "Grévy's zebra №7 has narrow stripes, lives in 3 countries and drinks water every second day of the year. "
JAPANESE = "シマウマは草原に住み、毎日水を飲みます。群れは zebra7 と呼ばれる雄に率いられます。"


@pytest.mark.parametrize(
    ("text", "other", "count"),
    [
        (ENGLISH * 2, ENGLISH.upper() * 2, 1),
        (ENGLISH * 2, (ENGLISH * 2).replace(", ", " -- ").replace("'", "’"), 2),  # another apostrophe, another word
        (ENGLISH * 2, ENGLISH + ENGLISH.replace("second", "third"), 2),
        (JAPANESE, JAPANESE.replace("、", " "), 1),
        (JAPANESE, JAPANESE.replace("毎日", "時々"), 2),
        ("x" * 100 + " and more", "x" * 90 + "y" * 10 + " and more", 1),  # only the first letters of words count
    ],
)
def test_copies_are_left_out(text: str, other: str, count: int) -> None:
    copies = [passage.copy_with(document_id=uuid.uuid4()) for passage in passages(text, other)]
    assert deduplicate(copies) == copies[:count]
    assert deduplicate(passages(text, other)) == passages(text, other)  # of one document


def test_passages_are_equal_whatever_their_signatures() -> None:
    (passage,) = passages(ENGLISH)
    signed = passage.copy_with(signatures=np.zeros((2, 48), np.uint8))
    resigned = passage.copy_with(signatures=np.ones((2, 48), np.uint8))
    assert signed == resigned
    assert operator.ne(signed, resigned) is False
    assert signed != signed.copy_with(text="Lions.")
