"""Words, stems and function words in several languages, and what grounding and extraction do with them."""

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag.pipeline.answering.extractive.extract import extract_quotes
from rag.pipeline.answering.extractive.render_quotes import render_quotes
from rag.pipeline.grounding.assess_grounding import assess_grounding
from rag.pipeline.validation.validate import find_supporting_passages, validate_answer
from rag.services.queries.agent import selected_text_passage
from rag.text import names, question_language, words
from rag.types import Context, Passage
from tests.support.checks.growth import takes_linear_time

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


@pytest.mark.parametrize(
    ("lang", "question"), [("es", "¿Cuántas noches?"), ("it", "Quante notti?"), ("pt", "Quantas noites?")]
)
def test_question_words_of_both_genders_are_no_content(lang: str, question: str) -> None:
    assert words.content_words(question, lang) == [question.split()[1].rstrip("?").lower()]


def shared_stems(question: str, text: str, lang: str, question_lang: str | None = None) -> set[str]:
    """The stems that a text shares with the content words of a question, in the text's language."""
    question_words = words.content_words(question, lang if question_lang is None else question_lang)
    return set(words.stems_among(text, {words.stem(word, lang) for word in question_words}, lang))


def passage(text: str, lang: str, score: float = 0.3) -> Passage:
    return selected_text_passage(text).copy_with(lang=lang, score=score)


@pytest.mark.parametrize(("lang", "question", "answer", "other"), QUESTIONS, ids=[lang for lang, *_ in QUESTIONS])
def test_an_inflected_question_finds_its_passage(lang: str, question: str, answer: str, other: str) -> None:
    passages = [passage(other, lang, 0.42), passage(answer, lang, 0.4)]
    assert not shared_stems(question, other, lang)
    assert shared_stems(question, answer, lang)
    grounding = assess_grounding(question, Context("", tuple(passages), 0))
    assert grounding.is_groundable
    assert grounding.relevant == (passages[1],)
    assert render_quotes(extract_quotes(question, passages)) == answer


@pytest.mark.parametrize(
    ("text", "candidate"),
    [("AWS pays", "AWS"), ("on iOS", "iOS"), ("Try it", "trying"), ("She bought tea", "buy"), ("It is dying", "die")],
)
def test_short_and_irregular_words_are_found_in_a_text(text: str, candidate: str) -> None:
    assert words.stems_among(text, [words.stem(candidate.lower(), "en")], "en").total() == 1


def test_an_apostrophe_at_the_end_is_no_part_of_a_word() -> None:
    assert words.split_words("The boys' room, the girls’ room, don't 'go'") == [
        *("the", "boys", "room", "the", "girls", "room", "don't", "go")
    ]


def test_gaps_contain_no_function_words() -> None:
    grounding = assess_grounding("Wann fahren die Züge nach Ulm?", Context("", (passage("Der Zug fährt.", "de"),), 0))
    assert grounding.gaps == ("fahren", "Ulm")


def test_an_answer_is_validated_in_its_language() -> None:
    context = passage("Die Gärtner pflegen die alten Häuser am Bach.", "de-DE")
    answer = "Das alte Haus am Bach pflegt ein Gärtner."
    assert validate_answer(answer, context.text, [context.lang]).is_valid
    assert not validate_answer("Der Bürgermeister verkauft am Bach Fahrräder.", context.text, [context.lang]).is_valid
    assert find_supporting_passages(answer, [passage("Ein Boot.", "de"), context]) == (context,)


def test_words_are_compared_in_the_language_of_the_passage() -> None:
    question = "Wo stehen die Häuser der Gärtner?"
    assert shared_stems(question, "Das Haus des Gärtners.", "de") == {"haus", "gartn"}
    assert not shared_stems(question, "The houses of the gardeners.", "en", question_lang="de")
    assert shared_stems(question, "Das Haus des Gärtners.", "", question_lang="de") == {"gärtner"}, "stemmed as English"


def test_english_and_unknown_languages_are_treated_as_english() -> None:
    """Language detection is skipped if no passage has another language."""
    text, question = "The keeper's keys hung in the hall.", "Where are the keepers' keys?"
    for lang in ("", "en", "en-GB", "English", "ja"):
        assert question_language.query_language(question, [lang, ""]) == ""
        assert shared_stems(question, text, lang) == shared_stems(question, text, "") == {"keeper", "key"}
        assert words.stems(text, lang) == words.stems(text)
        assert words.content_words(text, lang) == ["keeper's", "keys", "hung", "hall"]


def test_a_short_question_with_english_function_words_is_english() -> None:
    """Language detection is unsure of it, so that "Do" and "you" were content words beside Spanish documents."""
    assert question_language.query_language("Do you offer a Java SDK?", ["es", "en"]) == ""
    assert question_language.query_language("Java SDK", ["es", "en"]) == "es"
    assert question_language.query_language("tarif piscine enfant", ["de", "de", "fr"]) == "fr", "not the commoner one"
    assert question_language.query_language("löneförhöjning", ["sv", "sv", "de"]) == "sv", "a language without a model"
    named = "Порядок настройки уведомлений в Sign in with Apple"
    assert question_language.query_language(named, ["ru", "en"]) == "ru", "an English name does not make it English"


def test_scripts_without_spaces_are_split_into_bigrams() -> None:
    assert words.split_words("東京の天気 today") == ["東京", "京の", "の天", "天気", "today"]
    assert words.split_words("字") == ["字"]


def test_vowel_signs_are_part_of_words() -> None:
    assert words.split_words("हिन्दी में मौसम") == ["हिन्दी", "में", "मौसम"]


def test_irregular_forms_of_english_words_have_one_stem() -> None:
    assert words.stem("lost") == words.stem("lose") == words.stem("losing")
    assert words.stem("children") == words.stem("child")
    assert words.stem("paid", "de") != words.stem("pay", "de")
    assert words.stem("backups") == words.stem("backed") == words.stem("back")
    assert words.stem("login") == words.stem("logging")
    assert words.stem("input") != words.stem("in")


@pytest.mark.parametrize("apostrophe", ["'", "’"])
def test_contractions_are_no_content_words(apostrophe: str) -> None:
    question = "Why can't I see what it doesn't know, and who's asked when we're away?".replace("'", apostrophe)
    assert words.content_words(question) == ["see", "know", "asked", "away"]


@pytest.mark.parametrize(
    ("text", "word", "lang", "is_found"),
    [
        ("Die Hallenmiete beträgt 40 Euro.", "Halle", "de", False),  # four letters of a stem are in too many words
        ("Die Bootsmiete ist hoch.", "Bootsmieten", "de", True),
        ("Die Vereinsgebühr ist fällig.", "Gebühren", "de", True),
        ("Die Vereinsgebühr ist fällig.", "Verein", "de", True),
        ("Ammoniak: 30 Minuten", "Ammoniakprobe", "de", True),
        ("De lidmaatschapskosten zijn hoog.", "lidmaatschap", "nl", True),
        ("Medlemsavgiften är låg.", "avgiften", "sv", True),
        ("Die Gebührenordnung gilt.", "Gebühr", "de", True),
        ("Der Verein hat Mitglieder.", "Vereine", "de", True),
        ("Die Verwaltung ist offen.", "Alter", "de", False),
        ("Preiselbeeren", "Preis", "en", False),
        ("A membership card.", "member", "en", False),
    ],
)
def test_parts_of_compounds_count_as_words(text: str, word: str, lang: str, is_found: bool) -> None:
    assert bool(words.stems_among(text, [words.stem(word.lower(), lang)], lang)) is is_found


@given(st.text(string.printable + "\x1c\x7f" + 20 * "'"), st.sampled_from(["en", "de", ""]))
@example("the boys' 'n' o''clock 'tis it's x'''y '", "en")
def test_texts_in_ascii_have_the_words_that_they_have_beside_another_letter(text: str, lang: str) -> None:
    assert words.split_words(f"{text} é", lang) == [*words.split_words(text, lang), "é"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025年展览在哪里？", ["2025", "年展览在哪里"]),
        ("農園のWi-Fiのパスワードは", ["農園の", "Wi-Fi", "の", "パスワード", "は"]),
        ("地下车库B2层", ["地下车库", "B2", "层"]),
        ("How is 漢字 1,204.50 written?", ["How", "is", "漢字", "1,204.50", "written"]),
        ("Сколько стоит 5-й день?", ["Сколько", "стоит", "5-й", "день"]),
    ],
)
def test_numbers_and_words_of_other_scripts_are_tokens_of_their_own(text: str, expected: list[str]) -> None:
    tokens = list(names.find_tokens(text))
    assert [token.text for token in tokens] == [text[token.start : token.end] for token in tokens] == expected


@pytest.mark.parametrize("piece", ["ン", "年", "年ン", "2年", "a年ン2.", "1.2.年"])
def test_tokens_are_found_in_linear_time(piece: str) -> None:
    def text_of(length: int, attempt: int) -> str:
        return piece * length + str(attempt)

    assert takes_linear_time(lambda text: list(names.find_tokens(text)), text_of, 20_000)


def test_more_words_than_are_kept_have_their_stems() -> None:
    counted = [f"{name} houses" for name in range(60_000)]
    assert words.stems("\n".join(counted)).most_common(1) == [("hous", 60_000)]
    assert words.stem("houses") == "hous"
    assert words.stem("häuser", "de") == words.stem("haus", "de") != words.stem("häuser")


@pytest.mark.parametrize(
    ("question", "lang", "content"),
    [
        ("Wo kann ich meinen Wagen parken?", "de", ["wagen", "parken"]),
        ("Wer pflegt den Garten unserer Nachbarn?", "de", ["pflegt", "garten", "nachbarn"]),
        ("Wofür und womit wird der Garten gepflegt?", "de", ["garten", "gepflegt"]),
        ("Waarmee betaal ik?", "nl", ["betaal"]),
        ("¿Dónde están nuestras llaves?", "es", ["llaves"]),
        ("Dove sono i vostri biglietti?", "it", ["biglietti"]),
        ("Onde estão os nossos livros?", "pt", ["livros"]),
    ],
)
def test_possessives_and_pronouns_are_no_content_words(question: str, lang: str, content: list[str]) -> None:
    assert words.content_words(question, lang) == content


@pytest.mark.parametrize(
    ("noun", "verb"),
    [("austritt", "austreten"), ("teilnahme", "teilnehmen"), ("rückgaben", "rückgeben"), ("einzugs", "einziehen")],
)
def test_german_nouns_have_the_stem_of_their_verb(noun: str, verb: str) -> None:
    assert words.stem(noun, "de") == words.stem(verb, "de")
    assert words.stem(noun, "en") != words.stem(verb, "en")


@pytest.mark.parametrize(("noun", "stem"), [("schritt", "schritt"), ("zug", "zug"), ("gang", "gang")])
def test_other_german_nouns_keep_their_stem(noun: str, stem: str) -> None:
    assert words.stem(noun, "de") == stem
