"""What of a part is compared with a question in another language."""

from collections.abc import Sequence

import numpy as np
import pytest

from rag.errors import EntailmentFailed
from rag.pipeline.answering.extractive.extract import extract_quotes
from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.scores.answer_candidates import find_candidates
from rag.pipeline.answering.extractive.scores.multilingual_similarity import compare_in_other_languages
from rag.providers import provider_factory
from tests.support.passages import passage

TABLE = "| Instrument | Deposit |\n| --- | --- |\n| Cello | 100 |\n| Harp | 200 |"


class WordModel:
    """Embeds texts by whether they have a word."""

    def embed(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [np.array([1.0, 0.0] if "Deposit" in text or "Pfand" in text else [0.0, 1.0]) for text in texts]

    def embed_question(self, text: str) -> np.ndarray:
        return self.embed([text])[0]


def test_rows_are_compared_with_the_names_of_their_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_factory, "multilingual_embedder", WordModel)
    text = f"{TABLE}\n\nStrings are extra."
    table = passage(text, lang="en")
    similarity = compare_in_other_languages("Wie hoch ist das Pfand für ein Cello?", [table])
    assert similarity is not None

    def cosine(part: str) -> float | None:
        start = table.start + text.index(part)
        return similarity.score_both_ways(table.document_id, start, start + len(part))

    assert cosine("| Cello | 100 |") == cosine("| Harp | 200 |") == 1
    assert cosine("Strings are extra.") == 0


class SimilarModel(WordModel):
    """Finds one sentence nearest to the question, and another one nearly as near."""

    def embed(self, texts: Sequence[str]) -> list[np.ndarray]:
        cosines = [1.0 if "nearest" in text else 0.75 if "Harfe" in text else 0.0 for text in texts]
        return [np.array([cosine, (1 - cosine**2) ** 0.5]) for cosine in cosines]

    def embed_question(self, text: str) -> np.ndarray:
        return np.array([1.0, 0.0])


@pytest.mark.parametrize(("lang", "best"), [("de", "Die Harfe kostet etwas."), ("en", "This is the nearest one.")])
def test_words_count_more_within_a_language(lang: str, best: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between languages a common word is a name, or the same by chance."""
    monkeypatch.setattr(provider_factory, "multilingual_check", lambda: None)
    monkeypatch.setattr(provider_factory, "multilingual_embedder", SimilarModel)
    sentences = [
        "This is the nearest one.",
        "Die Harfe kostet etwas.",
        *(f"Satz {n}." for n in ("zwei", "drei", "vier")),
    ]
    page = passage("\n\n".join(f"## Teil\n\n{sentence}" for sentence in sentences), lang=lang)
    question = "Was ist mit der Harfe?"
    quotes = extract_quotes(question, [page], compare_in_other_languages(question, [page]))
    assert quotes[0].text == best


class Reader:
    """Finds that what has the word "pesa" answers surely."""

    def logits(self, question: str, texts: Sequence[tuple[str, str]]) -> list[float]:
        return [20.0 if "pesa" in text else -20.0 for _, text in texts]


class Broken(Reader):
    """Cannot be loaded."""

    def logits(self, question: str, texts: Sequence[tuple[str, str]]) -> list[float]:
        raise EntailmentFailed("It cannot be loaded.")


@pytest.mark.parametrize(
    ("model", "best"),
    [(Reader, "El arpa pesa 40 kilos."), (Broken, "This is the nearest one."), (None, "This is the nearest one.")],
)
def test_the_best_parts_are_read_with_the_question(
    model: type[Reader] | None, best: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_factory, "multilingual_embedder", SimilarModel)
    monkeypatch.setattr(provider_factory, "multilingual_check", lambda: model and model())
    sentences = ["This is the nearest one.", "Die Harfe kostet etwas.", "El arpa pesa 40 kilos.", "Satz vier."]
    page = passage("\n\n".join(f"## Teil\n\n{sentence}" for sentence in sentences), lang="en")
    query = "Was ist mit der Harfe?"
    similarity = compare_in_other_languages(query, [page])
    assert extract_quotes(query, [page], similarity)[0].text == best


def test_parts_that_are_not_read_stay_below_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_factory, "multilingual_embedder", SimilarModel)
    monkeypatch.setattr(provider_factory, "multilingual_check", Reader)
    others_text = "\n\n".join(f"Sentence {number} is about something else." for number in range(6))
    page = passage(f"El arpa pesa 40 kilos.\n\n{others_text}", lang="en")
    similarity = compare_in_other_languages("Was ist mit der Harfe?", [page])
    structure = PassageStructure(page)
    candidates = find_candidates([structure], ["Harfe"])
    assert similarity is not None
    assert len(candidates) == 7
    scores = similarity.add_reading([1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4], candidates, [structure])
    read, others = scores[:4], scores[4:]
    assert min(read) >= max(others)
    assert others == sorted(others, reverse=True)
