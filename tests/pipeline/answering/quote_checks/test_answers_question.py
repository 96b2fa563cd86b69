"""Which quotes a model finds not to answer a question: those about the right thing that say something else of it."""

from pathlib import Path

import pytest
from django.conf import settings

from rag.errors import EntailmentFailed
from rag.pipeline.answering.extractive.extract import EXTRACTIVE_MODEL, extract_quotes
from rag.pipeline.answering.generate import PreparedGeneration
from rag.pipeline.answering.quote_checks.answers_question import Judgement, judge_quotes
from rag.providers import provider_factory
from rag.providers.entailment.answer_check import AnswerCheck
from rag.providers.entailment.multilingual.check import MultilingualCheck
from tests.support.passages import passage

MARIMBA = "The marimba is lent by Ms Novak, who is in the office on Tuesdays."
WEIGHT = "How much does the marimba weigh?"


def is_answer(question: str, text: str, probability: float = 0.6, **fields: object) -> bool:
    return judge(question, text, probability, **fields).is_answer


def judge(question: str, text: str, probability: float = 0.6, **fields: object) -> Judgement:
    quotes = extract_quotes(question, [passage(text, **fields)])
    citations = tuple(citation for quote in quotes for citation in quote.citations)
    quoted = "\n".join(quote.text for quote in quotes)
    generation = PreparedGeneration(
        EXTRACTIVE_MODEL, iter(()), quotes=citations, quoted_text=quoted, first_quote=quotes[0] if quotes else None
    )
    return judge_quotes(question, generation, probability)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who lends the marimba?", MARIMBA),
        (WEIGHT, "The marimba weighs 70 kg."),
        ("Who leads the choir?", "The choir is led by Ms Novak."),
        ("Are dogs allowed in the hut?", "Animals must stay outside."),
        ("Can I pay by card?", "No, we only take cash."),
        ("How do I delete a document?", "Send `DELETE /api/rag/documents/{id}`."),
        ("wifi password?", "The password of the wireless network is on the notice board."),
        ("What does E-27 mean?", "E-27: the filter is blocked. Clean it."),
        ("When do I have to check out of the room?", "Please leave it by 10 am."),
        ("How much is the guided tour?", "The guided tour is free of charge."),
        ("Where is the key?", "The key is next to the kitchen door."),
        ("What does a lesson cost for class B?", "- Lesson — class A: 83.00 — class B: 78.00"),
    ],
)
def test_answers_are_shown(question: str, text: str) -> None:
    assert is_answer(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (WEIGHT, MARIMBA),
        ("How old is the lift?", "The lift has a yellow button that calls the engineer."),
        ("How big is the main hall?", "The main hall is led by Peter Keller, and closed on Mondays."),
        ("What colour is the canoe?", "The canoe costs 12 euros a day."),
        ("Does the coffee machine grind beans?", "Put a paper filter into the holder of the coffee machine."),
        ("How much is the sauna on Sundays?", "The sauna costs 12 euros on weekdays."),
        ("How much does the kayak cost?", "Kayaks are rinsed with fresh water after each trip."),
        ("When is the flea market in Ashford?", "Flea market in Norwood: Saturday, 8 to 12."),
        ("When is the autumn break in 2026?", "Autumn break 2025: 14 to 25 October."),
    ],
)
def test_what_says_something_else_is_not_shown(question: str, text: str) -> None:
    assert not is_answer(question, text)


class FindingBikes:
    """Judges that a text answers if it has bikes, in any language, and remembers what it read."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def logit(self, question: str, text: str) -> float:
        self.texts.append(text)
        return 1.0 if any(word in text for word in ("bike", "Rad", "自行车")) else -9.0


LOCKER = "What fits a locker?"


def generation_of(quoted: str) -> PreparedGeneration:
    """An answer that quotes the whole text."""
    first = extract_quotes(LOCKER, [passage(quoted, headings=("Lockers",), lang="en")])[0]
    return PreparedGeneration(EXTRACTIVE_MODEL, iter(()), quotes=first.citations, quoted_text=quoted, first_quote=first)


@pytest.mark.parametrize(("sentences", "is_shown", "count"), [(2, True, 1), (9, True, 1), (40, False, 3)])
def test_long_quotes_are_read_in_parts(
    sentences: int, is_shown: bool, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = FindingBikes()
    monkeypatch.setattr(provider_factory, "answer_check", lambda: model)
    quoted = "The hall has benches along the wall, lockers, and a stove. " * sentences + "Each locker fits a bike."
    assert judge_quotes(LOCKER, generation_of(quoted), 0.6).is_answer == is_shown
    assert len(model.texts) == count, "time is bounded"
    assert all(text.startswith("Lockers\n") and text.endswith(".") for text in model.texts), "below the heading"


@pytest.mark.parametrize(
    ("question", "lang", "before", "answer"),
    [
        (
            "Was passt in ein Schließfach?",
            "de",
            "Die Halle hat Bänke an der Wand und Öfen. ",
            "Ein Schließfach fasst ein Rad.",
        ),
        ("储物柜能放什么?", "zh", "大厅里有长椅和一个火炉，墙边放着鞋架。", "每个储物柜能放一辆自行车。"),
    ],
)
def test_long_quotes_in_other_languages_are_read_in_parts(
    question: str, lang: str, before: str, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a model reads at once has fewer characters in a script without spaces."""
    model, reader = FindingBikes(), MultilingualCheck(cache=settings.RAG_MODEL_CACHE_FOLDER, threads=1)
    monkeypatch.setattr(provider_factory, "multilingual_check", lambda: model)
    quoted = before * 5 + answer + before * 8
    first = extract_quotes(question, [passage(quoted, lang=lang)])[0]
    generation = PreparedGeneration(
        EXTRACTIVE_MODEL, iter(()), quotes=first.citations, quoted_text=quoted, first_quote=first
    )
    assert judge_quotes(question, generation, 0.6).is_answer
    for text in model.texts:
        assert reader.logit(question, text) != reader.logit(question, text[:-12]), "to its end"


@pytest.mark.parametrize("before", [0, 14])
def test_the_part_with_most_words_of_the_question_is_read_first(before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more is read once a part is sure."""
    model = FindingBikes()
    monkeypatch.setattr(provider_factory, "answer_check", lambda: model)
    bench = "The hall has benches along the wall. "
    quoted = bench * before + "Each locker fits a bike. " + bench * 20
    assert judge_quotes(LOCKER, generation_of(quoted), 0.6).is_answer
    assert len(model.texts) == 1


class Refusing:
    """Judges that nothing answers anything, so that only what is not judged is shown."""

    def logit(self, question: str, text: str) -> float:
        return -9.0


@pytest.mark.parametrize(
    ("question", "similarity", "probability", "is_shown"),
    [
        ("How do I leave files out?", 0.45, 0.6, True),
        ("How do I leave files out?", 0.35, 0.6, False),
        ("How do I leave files out?", None, 0.6, False),
        ("How do I leave files out?", 0.45, 0.45, False),
        ("Which files are left out?", 0.45, 0.6, False),
    ],
)
def test_steps_below_the_heading_that_is_asked_for_need_a_lower_logit(
    question: str, similarity: float | None, probability: float, is_shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AnswerCheck, "logit", lambda *_: -1.5)
    options = "- `--exclude` for files, one or more times\n- `--exclude-file` for files that a list names"
    assert is_answer(question, options, probability, heading_similarity=similarity) is is_shown


@pytest.mark.parametrize(
    ("question", "text", "lang"),
    [
        ("Does the canoe have a colour?", "Yes. The canoe is red.", "en"),  # it answers
        ("When must we leave?", "Please check out by 10 am.", "en"),  # no common word
        ("Hat das Kanu eine Farbe?", "Das Kanu kostet 12 Euro am Tag.", "de"),
        ("Wann müssen wir gehen?", "Die Abreise ist bis 10 Uhr.", "de"),
    ],
)
def test_some_quotes_are_not_judged(question: str, text: str, lang: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_factory, "answer_check", Refusing)
    monkeypatch.setattr(provider_factory, "multilingual_check", Refusing)
    assert is_answer(question, text, lang=lang)
    assert not is_answer(WEIGHT, MARIMBA)


class Doubting:
    """Judges that everything may or may not answer anything."""

    def logit(self, question: str, text: str) -> float:
        return -0.5


def test_a_judged_answer_has_a_probability(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_factory, "answer_check", Doubting)
    monkeypatch.setattr(provider_factory, "multilingual_check", Doubting)
    weighs = "The marimba weighs 70 kg."
    judged = judge(WEIGHT, weighs)
    assert judged.probability is not None
    assert 0.4 < judged.probability < 0.6
    assert judge(WEIGHT, weighs, probability=0.95).probability is None, "not judged"
    german = judge("Wie schwer ist die Marimba?", "Die Marimba wiegt 70 kg.", lang="de")
    assert (german.is_answer, german.probability) == (True, None), "its logits were fitted on their own"


@pytest.mark.parametrize("probability", [0.6, 0.95])
def test_prices_of_other_things_must_be_judged_more_likely(probability: float, monkeypatch: pytest.MonkeyPatch) -> None:
    question, barge = "What does it cost to hire a barge?", "Hire of a barge: 60 euros a day"
    monkeypatch.setattr(provider_factory, "answer_check", Doubting)
    monkeypatch.setattr(provider_factory, "multilingual_check", Doubting)
    assert is_answer("barge hire price", barge, probability)
    assert not is_answer("forklift hire price", barge, probability)
    assert not is_answer(question, "The hire of a barge ends at noon.", probability)
    assert is_answer("forklift price", "Hebebühne: 60 Euro am Tag", probability, lang="de"), "other words of a language"


def test_quotes_that_seem_to_lack_a_fact_must_be_judged_more_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_factory, "answer_check", Doubting)
    assert is_answer("How many pupils are there?", "The school has 40 pupils.")
    assert not is_answer("How many pupils are there?", "There are five lessons a year for each pupil.")
    assert is_answer("How deep is the pond?", "The pond is 2 m deep.")
    assert not is_answer("How deep is the pond?", "The pond has 12 fish.")
    assert is_answer("What time does the pool close?", "The pool closes at 8 pm.")
    assert not is_answer("What time does the sauna close?", "The pool closes at 8 pm.")
    assert is_answer("Who is the chair of the club?", "Ms Novak is the chair of the club.")
    assert not is_answer("Who is the chair of the club?", "The club has a table and a lamp.")


GERMAN_WEIGHT, SPANISH_WEIGHT = "Wie schwer ist die Marimba?", "¿Cuánto pesa la marimba?"


@pytest.mark.parametrize(
    ("question", "text", "lang"),
    [
        (GERMAN_WEIGHT, "Die Marimba wiegt 70 kg.", "de"),
        (GERMAN_WEIGHT, "The marimba weighs 70 kg.", "en"),
        (SPANISH_WEIGHT, "La marimba pesa 70 kg.", "es"),
        (WEIGHT, "Die Marimba wiegt 70 kg.", "de"),
        ("Was kostet der Eintritt für Kinder?", "Eintritt — Kinder: 4 Euro — Erwachsene: 9 Euro", "de"),
        ("Quand la piscine est-elle ouverte ?", "La piscine est ouverte du mardi au dimanche, de 10 h à 19 h.", "fr"),
    ],
)
def test_answers_in_other_languages_are_shown(question: str, text: str, lang: str) -> None:
    assert is_answer(question, text, lang=lang)


@pytest.mark.parametrize(
    ("question", "text", "lang"),
    [
        ("Welche Farbe hat das Kanu?", "Das Kanu kostet 12 Euro am Tag.", "de"),
        ("Wann ist der Flohmarkt in Ashford?", "Flohmarkt in Norwood: Samstag, 8 bis 12 Uhr.", "de"),
        ("¿Cuándo es el mercado en Ashford?", "Mercado en Norwood: sábado, de 8 a 12.", "es"),
        ("When is the autumn break in 2026?", "Herbstferien 2025: 14. bis 25. Oktober.", "de"),
    ],
)
def test_what_says_something_else_in_another_language_is_not_shown(question: str, text: str, lang: str) -> None:
    assert not is_answer(question, text, lang=lang)


def test_the_multilingual_model_judges_only_what_the_english_one_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_factory, "multilingual_check", Refusing)
    assert is_answer(WEIGHT, "The marimba weighs 70 kg.", lang="en")
    assert not is_answer(GERMAN_WEIGHT, "Die Marimba wiegt 70 kg.", lang="de")
    assert not is_answer(WEIGHT, "Die Marimba wiegt 70 kg.", lang="de")


@pytest.mark.parametrize(("logit", "is_shown"), [(-0.4, True), (-0.6, False)])
def test_quotes_in_other_languages_have_a_limit_of_their_own(
    logit: float, is_shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Doubting, "logit", lambda *_: logit)
    monkeypatch.setattr(provider_factory, "answer_check", Doubting)
    monkeypatch.setattr(provider_factory, "multilingual_check", Doubting)
    assert is_answer(GERMAN_WEIGHT, "Die Marimba wiegt 70 kg.", lang="de") == is_shown
    assert is_answer(WEIGHT, "The marimba weighs 70 kg."), "the limit for English is lower"


def test_quotes_with_high_probability_are_not_judged() -> None:
    assert not is_answer(WEIGHT, MARIMBA, 0.89)
    assert is_answer(WEIGHT, MARIMBA, 0.9)


def test_the_heading_is_read_with_the_quote() -> None:
    """What a quote is about is often only in its heading."""
    question, headings = "How heavy is the coffee machine?", ("Coffee machine",)
    assert is_answer(question, "It weighs 2.8 kg.", headings=headings)
    assert not is_answer(question, "It is open on Mondays.", headings=headings)
    assert is_answer(question, "It is open on Mondays."), "nothing says what it is"


@pytest.mark.parametrize("place", ["title", "path", "headings"])
def test_the_year_of_a_document_is_read_with_the_quote(place: str) -> None:
    """That of a price list is in its title, or in the name of its file."""
    question, row = "How much was the entry for adults in 2025?", "- Adults — Entry: 12 euros"

    def is_shown(year: str) -> bool:
        name = f"Prices {year}"
        fields: dict[str, object] = {place: (name, "Entry") if place == "headings" else name}
        return is_answer(question, row, 0.6, **fields)

    assert is_shown("2025")
    assert not is_shown("2024")


def test_without_the_model_quotes_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_factory, "answer_check", lambda: None)
    assert is_answer(WEIGHT, MARIMBA)


def test_if_the_model_fails_quotes_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / cached_folder_name()
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"broken")
    broken = AnswerCheck(cache=tmp_path, threads=1)
    with pytest.raises(EntailmentFailed, match="cannot be loaded"):
        broken.logit("Why?", "Because.")
    monkeypatch.setattr(provider_factory, "answer_check", lambda: broken)
    assert is_answer(WEIGHT, MARIMBA)


def cached_folder_name() -> str:
    AnswerCheck(cache=settings.RAG_MODEL_CACHE_FOLDER, threads=1).build()
    (folder,) = settings.RAG_MODEL_CACHE_FOLDER.glob("answer-check.v*")
    return str(folder.name)


def test_the_stored_parameters_give_the_logits_that_were_measured() -> None:
    """With the text in the question's segment it would be 2.2. The weights of 8 bits make small differences."""
    model = AnswerCheck(cache=settings.RAG_MODEL_CACHE_FOLDER, threads=1)
    row = "Aerobatics — Duration: 20 minutes — weekend: 149 euros"
    assert model.logit("aerobatics flight price", row) == pytest.approx(0.7, abs=0.6)


def test_texts_of_any_length_are_judged() -> None:
    model = AnswerCheck(cache=settings.RAG_MODEL_CACHE_FOLDER, threads=1)
    for question, text in [("", ""), ("a " * 3000, ""), ("", "b " * 3000), ("a " * 3000, "b " * 3000), ("?", "!")]:
        assert -20 < model.logit(question, text) < 20
    assert model.logit("Who leads the choir?", "Ms Novak." + " It rains." * 500) == model.logit(
        "Who leads the choir?", "Ms Novak." + " It rains." * 600
    )
