"""Whether a text answers a question, in one language or two: the trained weights, and what they are applied to."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings

from rag.errors import EmbeddingFailed, EntailmentFailed
from rag.providers.entailment.multilingual import check, model_file
from rag.providers.entailment.multilingual.check import MultilingualCheck
from rag.providers.entailment.multilingual.model_file import ModelFile, find_model_file

WEIGHT = "Wie schwer ist die Marimba?"
ANSWERS = ["Die Marimba wiegt 70 kg.", "The marimba weighs 70 kg.", "La marimba pesa 70 kg."]
OTHERS = [
    "Die Marimba verleiht Frau Novak.",
    "The marimba is lent by Ms Novak.",
    "La marimba la presta la señora Novak.",
]


@pytest.fixture(scope="module")
def model() -> MultilingualCheck:
    return MultilingualCheck(cache=settings.RAG_MODEL_CACHE_FOLDER, threads=1)


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("question", [WEIGHT, "How much does the marimba weigh?", "¿Cuánto pesa la marimba?"])
def test_an_answer_is_more_probable_than_what_says_something_else(
    model: MultilingualCheck, question: str, answer: str
) -> None:
    assert model.logit(question, answer) > max(model.logit(question, other) for other in OTHERS)


def test_the_part_that_the_question_is_about_is_read(model: MultilingualCheck) -> None:
    """A passage is longer than what the model reads at once."""
    rest = "It rains in the valley, and the road is closed until noon. " * 12
    at_end, nowhere = f"{rest} The marimba weighs 70 kg.", rest
    (with_answer, without) = model.logits(WEIGHT, [("", at_end), ("", nowhere)])
    assert with_answer > without + 1
    assert model.logit(WEIGHT, at_end) == pytest.approx(model.logit(WEIGHT, nowhere), abs=0.01)


def test_words_are_similar_to_their_translations(model: MultilingualCheck) -> None:
    about_it, other = model.compare("Wann schließt die Bibliothek?", ["The library closes at noon.", "Cats like fish."])
    assert about_it > other + 0.1
    assert model.compare("", ["a"]) == model.compare("a", [""]) == [0.0]


def test_the_heading_is_read_with_the_text(model: MultilingualCheck) -> None:
    with_heading, without = model.logits(WEIGHT, [("Marimba", "Gewicht: 70 kg"), ("Klavier", "Gewicht: 70 kg")])
    assert with_heading > without


def test_texts_of_any_length_are_judged(model: MultilingualCheck) -> None:
    for question, text in [("", ""), ("a " * 3000, ""), ("", "b " * 3000), ("a " * 3000, "b " * 3000), ("?", "!")]:
        (logit,) = model.logits(question, [(text, text)])
        assert -20 < logit < 20
        assert -20 < model.logit(question, text) < 20


def test_a_broken_graph_is_reported(tmp_path: Path) -> None:
    MultilingualCheck(cache=settings.RAG_MODEL_CACHE_FOLDER, threads=1).build()
    (folder,) = settings.RAG_MODEL_CACHE_FOLDER.glob("multilingual-check.v*")
    (tmp_path / folder.name).mkdir()
    (tmp_path / folder.name / check.GRAPH).write_bytes(b"broken")
    with pytest.raises(EntailmentFailed, match="cannot be loaded"):
        MultilingualCheck(cache=tmp_path, threads=1).logit("Why?", "Because.")


def test_another_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_file, "FILE_SHA256", "0" * 64)
    with pytest.raises(EmbeddingFailed, match="not the expected one"):
        find_model_file()


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


@pytest.mark.usefixtures("without_package")
def test_without_the_package_the_model_is_missing() -> None:
    assert not model_file.is_installed()
    with pytest.raises(EmbeddingFailed, match="make install"):
        find_model_file()


def test_the_file_is_that_of_the_published_model() -> None:
    file = ModelFile(find_model_file())
    assert (file.config["hidden_size"], file.config["num_hidden_layers"]) == (384, 12)
    assert file.pieces()[:6] == ["<s>", "<pad>", "</s>", "<unk>", ",", "."]
    by_name = {piece: number for number, piece in enumerate(file.pieces())}
    words = [by_name[word] for word in ("▁church", "▁Kirche", "▁iglesia", "▁price")]
    vectors = file.word_embeddings(words) - file.word_embeddings(range(5, 60_000, 20)).mean(axis=0)
    church, kirche, iglesia, price = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert min(church @ kirche, church @ iglesia) > 0.3 > church @ price
