"""A question finds its passage in the passage's own language: inflected words meet, function words do not count."""

import dataclasses

import pytest

from rag.pipeline.answering.extractive import extract_quotes, render_quotes
from rag.pipeline.grounding.ground import assess_grounding
from rag.pipeline.grounding.validate import find_supporting_passages, validate_answer
from rag.services.search.agent import selected_text_passage
from rag.text import words
from rag.types import Context, Passage

# Language, question, the passage that answers it, and one that shares only the question's function words.
QUESTIONS = [
    ("de", "Wo stehen die Häuser der Gärtner?", "Das Haus des Gärtners steht am Bach.", "Wo die Liebe hinfällt."),
    ("fr", "Où sont les hôtels des régions fermées ?", "L'hôtel de la région est fermé.", "Les gens sont de la ville."),
    ("es", "¿Dónde están las bicicletas nuevas?", "La bicicleta nueva llega hoy.", "Las personas están donde deben."),
    ("it", "Dove sono le aziende agricole?", "Dell'azienda agricola resta poco.", "Le donne sono dove sono."),
    ("nl", "Waar zijn de sleutels van het huis?", "De sleutel van alle huizen.", "Waar de wil is, is de weg."),
    ("sv", "Var finns nycklarna till bilarna?", "Nyckeln till bilen finns här.", "Var och en till sitt."),
    ("ru", "Где стоят велосипеды соседей?", "Велосипед соседа стоит во дворе.", "Где это было?"),
    ("fi", "Missä ovat talojen polkupyörät?", "Talon polkupyörä on pihalla.", "Missä ovat he?"),
]  # fmt: skip


def shared(question: str, text: str, lang: str, asked_in: str | None = None) -> set[str]:
    """The stems of the question's content words that the text has, by the rules of the text's language."""
    asked = words.content_words(question, lang if asked_in is None else asked_in)
    return set(words.stems_among(text, {words.stem(word, lang) for word in asked}, lang))


def passage(text: str, lang: str, score: float = 0.3) -> Passage:
    return dataclasses.replace(selected_text_passage(text), lang=lang, score=score)


@pytest.mark.parametrize(("lang", "question", "answer", "other"), QUESTIONS, ids=[each[0] for each in QUESTIONS])
def test_an_inflected_question_finds_its_passage(lang: str, question: str, answer: str, other: str) -> None:
    found = [passage(other, lang, 0.42), passage(answer, lang, 0.4)]
    assert not shared(question, other, lang)
    assert shared(question, answer, lang)
    grounding = assess_grounding(question, Context("", tuple(found), 0))
    assert grounding.is_groundable
    assert grounding.relevant == (found[1],)
    assert render_quotes(extract_quotes(question, found)) == answer


def test_what_is_missing_is_named_without_function_words() -> None:
    grounding = assess_grounding("Wann fahren die Züge nach Ulm?", Context("", (passage("Der Zug fährt.", "de"),), 0))
    assert grounding.gaps == ("fahren", "Ulm")


def test_an_answer_is_carried_by_a_context_in_its_language() -> None:
    known = passage("Die Gärtner pflegen die alten Häuser am Bach.", "de-DE")
    answer = "Das alte Haus am Bach pflegt ein Gärtner."
    assert validate_answer(answer, known.text, [known.lang]).is_valid
    assert not validate_answer("Der Bürgermeister verkauft am Bach Fahrräder.", known.text, [known.lang]).is_valid
    assert find_supporting_passages(answer, [passage("Ein Boot.", "de"), known]) == (known,)


def test_each_passage_is_read_in_its_own_language() -> None:
    question = "Wo stehen die Häuser der Gärtner?"
    assert shared(question, "Das Haus des Gärtners.", "de") == {"haus", "gartn"}
    assert not shared(question, "The houses of the gardeners.", "en", asked_in="de")
    assert shared(question, "Das Haus des Gärtners.", "", asked_in="de") == {"gärtner"}, "by English rules"


def test_english_and_unknown_languages_are_read_alike() -> None:
    """Where no passage has another language nothing changes, and no model is loaded to look for one."""
    text, question = "The keeper's keys hung in the hall.", "Where are the keepers' keys?"
    for lang in ("", "en", "en-GB", "English", "ja"):
        assert words.query_language(question, [lang, ""]) == ""
        assert shared(question, text, lang) == shared(question, text, "") == {"keeper", "key"}
        assert words.stems(text, lang) == words.stems(text)
        assert words.content_words(text, lang) == ["keeper's", "keys", "hung", "hall"]


def test_scripts_without_spaces_are_compared_by_pairs_of_letters() -> None:
    assert words.split_words("東京の天気 today") == ["東京", "京の", "の天", "天気", "today"]
    assert words.split_words("字") == ["字"]


def test_vowel_signs_stand_inside_words() -> None:
    assert words.split_words("हिन्दी में मौसम") == ["हिन्दी", "में", "मौसम"]
