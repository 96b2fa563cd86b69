"""The best passages are ordered also by a model that reads them with the question, if languages differ."""

import uuid
from collections.abc import Sequence

import pytest

from rag.errors import EntailmentFailed
from rag.pipeline.retrieval.reranking.read_together import read_together
from rag.providers import provider_factory
from rag.types import Passage
from tests.support.passages import PASSAGE

GERMAN, ENGLISH = "Wie schwer ist die Marimba?", "How much does the marimba weigh?"


class Reader:
    """Finds that texts answer the more surely the higher the number is that they are."""

    def __init__(self) -> None:
        self.read: list[tuple[str, str]] = []
        self.similar = ""
        self.compared: list[str] = []

    def compare(self, question: str, texts: Sequence[str]) -> list[float]:
        words = [text.strip() for text in texts]  # title and headings are above the text
        self.compared += words
        return [float(word == self.similar) for word in words]

    def logits(self, question: str, texts: Sequence[tuple[str, str]]) -> list[float]:
        self.read += texts
        return [float(text) for _, text in texts]


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Reader:
    model = Reader()
    monkeypatch.setattr(provider_factory, "multilingual_check", lambda: model)
    return model


def passages(*texts: str, lang: str = "en") -> list[Passage]:
    """Passages with these texts, whose relevances are nearly the same, in descending order."""
    return [
        PASSAGE.copy_with(chunk_id=uuid.uuid4(), text=text, lang=lang, relevance=0.6 - 0.01 * number)
        for number, text in enumerate(texts)
    ]


def texts(ranked: Sequence[Passage]) -> list[str]:
    return [passage.text for passage in ranked]


@pytest.mark.parametrize("lang", ["de", "en", ""])
def test_passages_of_a_question_that_is_not_english_are_read(reader: Reader, lang: str) -> None:
    ranked = read_together(GERMAN, passages("-2", "3", "1", lang=lang))
    assert texts(ranked) == ["3", "1", "-2"]
    assert [passage.answer_logit for passage in ranked] == [3.0, 1.0, -2.0]
    assert all(0 < passage.relevance < 1 for passage in ranked)


def test_the_relevance_counts_as_well(reader: Reader) -> None:
    first, second = passages("0", "0.5")
    assert texts(read_together(GERMAN, [first.copy_with(relevance=0.9), second.copy_with(relevance=0.5)])) == [
        "0",
        "0.5",
    ]


def test_english_passages_of_an_english_question_are_not_read(reader: Reader) -> None:
    english = passages("1", "2")
    assert read_together(ENGLISH, english) == english
    assert not reader.read
    mixed = [*english, *passages("3", lang="de")]
    assert texts(read_together(ENGLISH, mixed)) == ["3", "2", "1"]


def test_only_the_best_eight_are_read(reader: Reader) -> None:
    ranked = read_together(GERMAN, passages(*"1234567890", "99"))
    assert texts(ranked) == [*"87654321", "9", "0", "99"]
    assert ranked[8].answer_logit is None
    relevances = [passage.relevance for passage in ranked]
    assert relevances == sorted(relevances, reverse=True)


def test_passages_with_similar_words_are_read_first(reader: Reader) -> None:
    reader.similar = "9"
    assert texts(read_together(GERMAN, passages(*"123456780", "9", "99")))[0] == "9"


def test_words_of_passages_in_the_language_of_the_question_are_not_compared(reader: Reader) -> None:
    read_together(ENGLISH, [*passages("1", "2", lang="de"), *passages("3", "4", lang="en"), *passages("5", lang="fr")])
    assert reader.compared == ["1", "2", "5"]
    read_together(GERMAN, passages("1", "2", lang="de"))
    assert reader.compared == ["1", "2", "5"]


def test_words_of_the_best_fifty_are_compared(reader: Reader) -> None:
    read_together(GERMAN, passages(*map(str, range(60))))
    assert reader.compared == [*map(str, range(50))]


def test_the_nearest_heading_or_the_title_is_read_with_a_passage(reader: Reader) -> None:
    first, second = passages("1", "2")
    read_together(
        GERMAN, [first.copy_with(title="Lending", headings=("A", "Marimba")), second.copy_with(title="Lending")]
    )
    assert reader.read == [("Marimba", "1"), ("Lending", "2")]


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_passages_are_not_read(reader: Reader, count: int) -> None:
    assert len(read_together(GERMAN, passages(*"1"[:count]))) == count
    assert not reader.read


def test_without_the_model_the_order_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_factory, "multilingual_check", lambda: None)
    assert texts(read_together(GERMAN, passages("1", "2"))) == ["1", "2"]


def test_if_the_model_fails_the_order_stays(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(question: str, texts: Sequence[tuple[str, str]]) -> list[float]:
        raise EntailmentFailed("It cannot be loaded.")

    monkeypatch.setattr(reader, "logits", fail)
    assert texts(read_together(GERMAN, passages("1", "2"))) == ["1", "2"]
