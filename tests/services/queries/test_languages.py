"""Questions and documents that are not English are searched with the multilingual model, and only those."""

import uuid
from pathlib import Path
from unittest.mock import Mock

import pytest
from pytest_django import Settings

from orgs.access.caller import Caller
from rag.errors import EmbeddingFailed
from rag.models import DataSource, EmbeddingModel
from rag.models.content.pgvector_tables import Embedding512
from rag.pipeline.grounding.assess_grounding import assess_locally
from rag.pipeline.retrieval import find_candidates
from rag.pipeline.retrieval import retrieve as retrieval
from rag.providers import provider_factory
from rag.providers.embedders import multilingual
from rag.providers.entailment.multilingual.check import MultilingualCheck
from rag.services.queries import permitted_queries, scopes_by_embedding_model
from rag.services.queries.source_selection import SourceSelection
from rag.services.reembedding import second_model
from rag.text.question_language import FOREIGN_LANGUAGES
from rag.types import Answer, AnswerOptions, AnswerResult, Filters, Mode, Question, SearchScope
from tests.support.factories import World, ingest_text, ingest_texts
from tests.support.passages import PASSAGE

pytestmark = pytest.mark.django_db
ENGLISH = {
    "notice": "Either party may end the agreement in writing ninety days before the end of a quarter.",
    "cold": "Vaccines are kept in the refrigerator between two and eight degrees.",
    "travel": "The company reimburses train tickets and hotel nights of employees.",
    "dogs": "Well-behaved dogs may be brought to the office on Fridays.",
    "fire": "In case of fire leave the building by the stairs and meet at the car park.",
}
QUESTIONS = {
    "Wie lange im Voraus muss man den Vertrag kündigen?": "notice",
    "¿A qué temperatura se guardan las vacunas?": "cold",
    "Qui paie les billets de train des salariés ?": "travel",
    "我可以带狗去办公室吗？": "dogs",
    "ماذا أفعل عند اندلاع حريق؟": "fire",
}


@pytest.fixture(autouse=True)
def one_pass(settings: Settings) -> None:
    """A pass of the second model ends early if its time is over, and a busy machine needs long to load the model."""
    settings.RAG_SWEEP_INTERVAL_SECONDS = 600


@pytest.fixture
def library(world: World) -> DataSource:
    source = world.source("library")
    for path, text in ENGLISH.items():
        ingest_text(source, path, text, title="Handbook", lang="en")
    return source


def retrieve(world: World, text: str, **fields: object) -> list[str]:
    question = Question(text, **({"top_k": 3, "rerank": True} | fields))  # type: ignore[arg-type]
    passages = permitted_queries.retrieve(question, SourceSelection(Caller(world.users["member"]))).passages
    return [passage.path for passage in passages]


def ask(world: World, text: str) -> AnswerResult:
    selection = SourceSelection(Caller(world.users["member"]))
    question = Question(text, top_k=5, rerank=True)
    return permitted_queries.run_to_completion(
        permitted_queries.ask(question, selection, AnswerOptions(max_prompt_tokens=1000))
    )


def answer(world: World, text: str) -> Answer:
    return ask(world, text).answer


def built_scopes(text: str, filters: Filters | None = None) -> dict[str, SearchScope]:
    question = Question(text, top_k=3, filters=filters or Filters())
    names = dict(EmbeddingModel.objects.values_list("pk", "name"))
    return {
        names[scope.model_id]: scope
        for scope in scopes_by_embedding_model.build_scopes(DataSource.objects.all(), question)
    }


def test_english_data_gets_no_second_vectors(library: DataSource) -> None:
    second_model.embed_other_languages([])
    library.refresh_from_db()
    assert library.second_model is None
    assert not Embedding512.objects.exists()
    assert [*built_scopes("How long is the notice period?")] == ["all-MiniLM-L6-v2"]


@pytest.mark.parametrize(
    ("text", "is_requested"),
    [("Who pays?", False), ("Wer bezahlt die Reise?", True), ("Kündigungsfrist Reise", False)],
    ids=["English", "German", "only likely German"],
)
def test_a_question_in_another_language_requests_them(
    library: DataSource, text: str, is_requested: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: list[uuid.UUID] = []
    monkeypatch.setattr(second_model, "request_vectors", requested.extend)
    assert [*built_scopes(text)] == ["all-MiniLM-L6-v2"], "until they are complete, the English ones are searched"
    assert requested == ([library.pk] if is_requested else [])
    assert all(scope.lacks_language == is_requested for scope in built_scopes(text).values())


def test_questions_in_other_languages_find_english_passages(world: World, library: DataSource) -> None:
    second_model.embed_other_languages([library.pk])
    assert Embedding512.objects.count() == len(ENGLISH)
    assert [retrieve(world, text)[0] for text in QUESTIONS] == list(QUESTIONS.values())
    assert [*built_scopes("Wer bezahlt die Reise?")] == [multilingual.NAME]


def test_the_model_that_reads_other_languages_is_built_with_their_vectors(
    library: DataSource, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = MultilingualCheck(cache=tmp_path, threads=1)
    monkeypatch.setattr(provider_factory, "multilingual_check", lambda: model)
    second_model.embed_other_languages([])
    assert not list(tmp_path.glob("multilingual-check.*")), "while all is English, nothing is built"
    second_model.embed_other_languages([library.pk])
    assert len(list(tmp_path.glob("multilingual-check.*/model.onnx"))) == 1


def test_a_document_in_another_language_is_found_by_an_english_question(world: World, library: DataSource) -> None:
    ingest_text(library, "parken", "Angestellte dürfen ihr Auto kostenlos in der Tiefgarage abstellen.", lang="de")
    second_model.embed_other_languages([])
    assert retrieve(world, "Where may employees park their car for free?")[0] == "parken"
    assert retrieve(world, "May I bring my dog to work?")[0] == "dogs"


def test_an_english_question_is_answered_from_the_one_german_document_among_english_ones(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The English passages have words of the question, which the German one cannot have."""
    source, abroad = world.source(), "Aus dem Ausland darf an höchstens 20 Tagen im Kalenderjahr gearbeitet werden."
    english = [
        "Parents get up to ten days of leave a year if a child is ill.",
        "The keys of the house are kept at the front desk.",
        "Travel to other countries is booked by the office at least ten days ahead.",
        "Somebody who changes jobs within the company keeps the days of leave of the old one.",
        "Laptops are replaced every four years.",
        "On public holidays the office is closed.",
    ]
    ingest_texts(source, {str(number): text for number, text in enumerate(english)}, lang="en")
    ingest_text(source, "ausland", abroad, lang="de")
    second_model.embed_other_languages([])
    question = "My parents have a house in Italy. May I do my job from there for a while?"
    assert retrieve(world, question)[0] == "ausland"
    assert abroad in answer(world, question).text
    for module in (find_candidates, retrieval):
        monkeypatch.setattr(module, "MAX_RERANKED", 1)
    assert retrieve(world, question, top_k=1) == ["ausland"], "it is reranked, although words put others before it"
    english_question = "How many days ahead is travel to other countries booked?"
    assert retrieve(world, english_question)[0] == "2", "an English passage that has the answer stays first"
    assert english[2] in answer(world, english_question).text


def test_an_english_question_compares_only_foreign_documents_by_the_second_model(
    world: World, library: DataSource
) -> None:
    ingest_text(library, "parken", "Angestellte dürfen ihr Auto kostenlos in der Tiefgarage abstellen.", lang="de")
    second_model.embed_other_languages([])
    foreign_scope = built_scopes("Where may I park?")[multilingual.NAME]
    assert foreign_scope.filters.langs == FOREIGN_LANGUAGES
    assert [*built_scopes("Where may I park?", Filters(langs=("en",)))] == ["all-MiniLM-L6-v2"]
    assert retrieve(world, "Where may I park?", filters=Filters(langs=("de",))) == ["parken"]


def test_questions_in_other_languages_are_answered_with_the_english_sentence(world: World, library: DataSource) -> None:
    """Also with a measured confidence, and without naming the words of the question as missing."""
    text = "Wie lange im Voraus muss man den Vertrag kündigen?"
    assert not answer(world, text).citations, "the English vectors say nothing about a German question"
    second_model.embed_other_languages([library.pk])
    answered = answer(world, text)
    assert answered.text.startswith(ENGLISH["notice"])
    assert answered.warnings == ()
    assert 1 / 3 < answered.confidence < 0.75
    assert "erwähnen nicht" not in answered.text
    ingest_text(library, "druckerei", "Der Vertrag der Druckerei liegt im dritten Stock.", lang="de")
    second_model.embed_other_languages([library.pk])
    result = ask(world, "Wie viele Tage vor dem Ende des Quartals muss man den Vertrag mit Zorbach kündigen?")
    assert result.answer.text.startswith(ENGLISH["notice"])
    assert "erwähnen nicht" not in result.answer.text, "although a German document has no Zorbach"
    assert not result.grounding.gaps, "which the page shows, too"
    assert not answer(world, "Wer hat den Eiffelturm gebaut?").citations


def test_an_english_question_is_answered_from_a_german_document(world: World) -> None:
    parking = "Angestellte dürfen ihr Auto kostenlos in der Tiefgarage abstellen."
    ingest_text(world.source("german"), "parken", f"Die Kantine öffnet um elf Uhr.\n\n{parking}", lang="de")
    second_model.embed_other_languages([])
    assert parking in answer(world, "Where may employees park their car for free?").text


def test_a_german_question_in_other_words_is_answered_from_a_german_document(world: World) -> None:
    """Never with high confidence, because nobody has measured it."""
    source, parking = world.source("german"), "Angestellte dürfen ihr Auto kostenlos in der Tiefgarage abstellen."
    for path, text in ENGLISH.items():
        ingest_text(source, path, text, lang="en")
    ingest_text(source, "parken", f"# Haus\n\n## Garage\n\n{parking}", lang="de")
    ingest_text(source, "kantine", "Die Kantine öffnet um elf Uhr.", lang="de")
    second_model.embed_other_languages([])
    answered = answer(world, "Wo kann ich meinen Wagen parken?")
    assert answered.text.startswith(parking)
    assert answer(world, "Wo dürfen Angestellte ihr Auto kostenlos abstellen?").confidence == 0.75
    assert not answer(world, "Wer hat den Eiffelturm gebaut?").citations


def test_later_documents_are_found_as_soon_as_they_are_stored(world: World, library: DataSource) -> None:
    """Also by meaning alone, and also a new version: `POST /api/rag/ingest` promises it with its response."""
    second_model.embed_other_languages([library.pk])
    library.refresh_from_db()
    question = "Ab wann gibt es in der Kantine Mittagessen?"
    for hour in ("eleven", "half past eleven"):
        ingest_text(library, "canteen", f"The canteen serves lunch from {hour}.", lang="en")
        assert retrieve(world, question, mode=Mode.DENSE)[0] == "canteen"
    ingest_texts(library, {"lift": "The lift is out of order.", "garden": "Lunch may be eaten in the garden."})
    assert retrieve(world, "Der Aufzug ist kaputt.", mode=Mode.DENSE)[0] == "lift"
    assert retrieve(world, "Wo darf man Mittag essen, auch im Garten?", mode=Mode.DENSE)[0] == "garden"


def test_a_second_model_that_fails_delays_no_document(
    world: World, library: DataSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    second_model.embed_other_languages([library.pk])
    library.refresh_from_db()
    with monkeypatch.context() as context:
        context.setattr(multilingual.MultilingualEmbedder, "embed", Mock(side_effect=EmbeddingFailed("broken")))
        outcome = ingest_text(library, "canteen", "The canteen serves lunch from eleven.", lang="en")
    assert outcome.status == "created"
    assert retrieve(world, "When is lunch?")[0] == "canteen"
    second_model.embed_other_languages([])
    assert retrieve(world, "Ab wann gibt es in der Kantine Mittagessen?")[0] == "canteen"


def test_other_models_and_a_disabled_model_stay_alone(world: World, library: DataSource, settings: object) -> None:
    EmbeddingModel.objects.multilingual()
    other = world.source("other", embedding_model=EmbeddingModel.objects.get(name=multilingual.NAME))
    second_model.embed_other_languages([other.pk])
    other.refresh_from_db()
    assert other.second_model is None
    second_model.embed_other_languages([library.pk])
    settings.RAG_MULTILINGUAL_MODEL = ""  # type: ignore[attr-defined]
    assert library.pk in built_scopes("Wer bezahlt die Reise?")["all-MiniLM-L6-v2"].source_ids


def test_titles_are_compared_with_a_question_that_is_not_english(world: World, library: DataSource) -> None:
    second_model.embed_other_languages([library.pk])
    question = Question("Wie lange im Voraus muss man den Vertrag kündigen?", top_k=3, rerank=True)
    selection = SourceSelection(Caller(world.users["member"]))
    passages = permitted_queries.retrieve(question, selection).passages
    assert all(passage.heading_similarity is not None for passage in passages)


def test_a_passage_in_another_language_answers_only_if_it_is_more_similar_than_those_in_the_same(
    world: World, library: DataSource
) -> None:
    ingest_text(library, "wohnheim", "Das Wohnheim schließt um zehn Uhr abends.", lang="de")
    second_model.embed_other_languages([library.pk])
    german = PASSAGE.copy_with(chunk_id=uuid.uuid4(), source_id=library.pk, lang="de", score=0.4, maxsim=None)
    for score, is_relevant in ((0.39, False), (0.41, True)):
        french = german.copy_with(chunk_id=uuid.uuid4(), lang="fr", score=score)
        passages = [german, french, german.copy_with(chunk_id=uuid.uuid4(), score=0.1)]
        relevant = assess_locally("Wann schließt das Wohnheim?", passages, mode="hybrid+rerank").relevant
        assert [passage in relevant for passage in passages] == [True, is_relevant, True]
    for cosine, is_relevant in ((0.41, False), (0.39, True)):  # the cosine of the English model is another one
        english = german.copy_with(chunk_id=uuid.uuid4(), lang="en", score=0.2, multilingual_cosine=cosine)
        passages = [english, german.copy_with(score=0.1, multilingual_cosine=0.4)]
        assert (passages[1] in assess_locally("When does it close?", passages, mode="").relevant) == is_relevant


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (
            "Wer hat den Eiffelturm gebaut?",
            "In den Quellen wurde keine Antwort auf diese Frage gefunden. Am nächsten kommt",
        ),
        ("Qui a construit la tour Eiffel ?", "Aucune réponse à cette question n’a été trouvée dans les sources."),
        ("¿En qué año nació Pablo Picasso?", "No se encontró ninguna respuesta a esta pregunta en las fuentes."),
        (
            "Wie heeft de Eiffeltoren gebouwd?",
            "In de bronnen is geen antwoord op deze vraag gevonden. Het dichtst in de buurt",
        ),
        ("Who built the Eiffel tower?", "No answer to this question was found in the sources."),
    ],
)
def test_a_question_is_declined_in_its_language(
    world: World, library: DataSource, question: str, sentence: str
) -> None:
    second_model.embed_other_languages([library.pk])
    assert answer(world, question).text.startswith(sentence)
