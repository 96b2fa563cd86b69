"""Which words of a question may be corrected, and to what."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.pipeline.retrieval.query.spelling.correctable_words import find_correctable_words, replace_words
from rag.pipeline.retrieval.query.spelling.possible_corrections import possible_corrections

_words = st.text(string.ascii_lowercase, min_size=4, max_size=12)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("How do I chnage my pasword?", ["chnage", "pasword"]),
        ("Pasword (forgoten), what now", ["pasword", "forgoten", "what"]),
        ("Does Kafka, kafka-python or get_pasword read conf/pasword.txt or a@mail.example?", ["does", "read"]),
        ('Where is `pasword` or "pasword" or pasword\'s or RAG_pasword or v3pasword?', ["where"]),
        ("Was ist das Paßwort für größere Räume", []),
        ("giv it to me", []),
    ],
)
def test_names_and_identifiers_are_no_plain_words(question: str, words: list[str]) -> None:
    assert find_correctable_words(question) == words


def test_only_whole_plain_words_are_replaced() -> None:
    replacements = {"pasword": "password"}
    assert replace_words("Pasword or my pasword? Not paswords, api/pasword.", replacements) == (
        "Password or my password? Not paswords, api/pasword."
    )


@given(word=_words, place=st.integers(1, 11), letter=st.sampled_from(string.ascii_lowercase), kind=st.integers(0, 3))
def test_each_single_typing_error_is_undone(word: str, place: int, letter: str, kind: int) -> None:
    place = min(place, len(word) - 1)
    head, tail = word[:place], word[place:]
    mistyped = [head + tail[1:], head + letter + tail, head + letter + tail[1:], head + tail[1:2] + tail[:1] + tail[2:]]
    similar = possible_corrections(mistyped[kind])
    assert mistyped[kind] == word or word in similar
    assert mistyped[kind] not in similar
    assert len(similar) <= 60 * (len(word) + 2)
    assert all(item[0] == word[0] for item in similar)
