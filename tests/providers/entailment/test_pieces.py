"""Texts are split as the library of the model's authors splits them, with a table that needs less memory."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from rag.providers.entailment.multilingual.model_file import ModelFile, find_model_file
from rag.providers.entailment.multilingual.pieces import PieceSplitter, hash_pieces
from tests.support.checks.growth import takes_linear_time

TEXTS = [
    "How much does the marimba weigh?",
    "Die Öffnungszeiten des Museums für Völkerkunde",
    "¿Cuánto cuesta la entrada? — 12,50 €",
    "Сколько стоит билет?",
    "博物馆的开放时间是什么？",
    "متى يفتح المتحف؟",
    "",
    "  ",
    "x" * 500,
]


@pytest.fixture(scope="module")
def file() -> ModelFile:
    return ModelFile(find_model_file())


@pytest.fixture(scope="module")
def pieces(file: ModelFile) -> PieceSplitter:
    return PieceSplitter(hash_pieces(file.pieces(), file.scores), file.replacements)


@pytest.fixture(scope="module")
def reference(file: ModelFile) -> Callable[[str], list[int]]:
    vocabulary = list(zip(file.pieces(), file.scores.tolist(), strict=True))
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=3, byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    return lambda text: list(tokenizer.encode(text, add_special_tokens=False).ids)


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_split_as_the_library_does(
    text: str, pieces: PieceSplitter, reference: Callable[[str], list[int]], file: ModelFile
) -> None:
    plain = " ".join(text.translate(file.replacements).split())
    expected = reference(plain) if plain else []
    if len(text) > 128:
        assert 0 < len(pieces.ids(text)) <= len(expected) + len(text) // 128 + 1
    else:
        assert pieces.ids(text) == expected


def test_any_text_can_be_split(pieces: PieceSplitter) -> None:
    @given(st.text(max_size=300))
    def has_pieces(text: str) -> None:
        assert bool(pieces.ids(text)) == bool(text.translate(replacements).split())

    replacements = ModelFile(find_model_file()).replacements
    has_pieces()


def test_letters_are_read_in_their_usual_form(pieces: PieceSplitter) -> None:
    """Full-width letters, ligatures and letters with separate accents are common in PDF files."""
    assert pieces.ids("ＡＢＣ ﬁne cafe\u0301") == pieces.ids("ABC fine café")


def test_forgotten_words_are_split_again(pieces: PieceSplitter) -> None:
    before = pieces.ids("Öffnungszeiten")
    for start in range(0, 20_000, 1000):
        pieces.ids(" ".join(f"w{number}" for number in range(start, start + 1000)))
    assert pieces.ids("Öffnungszeiten") == before


def test_a_table_has_each_piece_once_in_ascending_order(file: ModelFile) -> None:
    hashes = hash_pieces(file.pieces(), file.scores)["hash"]
    assert len(hashes) > 249_000
    assert (np.diff(hashes.astype(object)) > 0).all()


def test_long_texts_take_time_in_proportion(pieces: PieceSplitter) -> None:
    assert takes_linear_time(pieces.ids, lambda length, attempt: f"{attempt}没有空格的长句子" * (length // 9), 20_000)
