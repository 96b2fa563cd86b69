"""What a page says about how far an answer can be trusted."""

import re

import pytest
from django.test import Client

from rag.models import UnansweredQuestion
from rag.pages.rendering.answer_rendering import show_answer
from rag.services.queries.history.stored_answers import ReadableAnswer
from rag.services.reembedding import second_model
from ragsite.postgres import identity
from tests.support.browsers import browser
from tests.support.factories import World, ingest_text
from tests.support.servers.provider_server import ProviderServer

NOT_YET = "<strong>No answer yet</strong>"


@pytest.fixture(autouse=True)
def committed(transactional_db: None) -> None:
    """A stream closes its connection between two events, which would end a test's transaction."""


def ask(client: Client, question: str) -> str:
    html = client.post("/", {"question": question}, follow=True).content.decode()
    return " ".join(re.sub(r"<(?!/?strong)[^>]*>", " ", html[html.index('class="answer"') :]).split())


def test_a_question_whose_language_is_not_ready_is_not_called_unanswered(world: World) -> None:
    source, client = world.source(), browser(world.users["member"])
    ingest_text(source, "notice", "The parties may end the agreement ninety days before the end of a quarter.")
    question = "Wie lange im Voraus muss man den Vertrag kündigen?"
    answer = ask(client, question)
    assert answer.count("documents are being prepared for this language") == 1
    assert NOT_YET in answer
    assert "erwähnen nicht" not in answer
    assert "do not mention" not in answer, "the page's own sentence is in its language"
    with identity.run_as(identity.WORKER):
        assert not UnansweredQuestion.objects.exists()
        second_model.embed_other_languages([source.pk])
    answer = ask(client, "Wer hat den Eiffelturm gebaut?")
    assert NOT_YET not in answer
    assert "<strong>No answer</strong>" in answer
    with identity.run_as(identity.WORKER):
        assert UnansweredQuestion.objects.exists()


def test_a_level_has_words_and_a_number(world: World) -> None:
    ingest_text(world.source(), "notice", "The parties may end the agreement ninety days before the end of a quarter.")
    answer = ask(browser(world.users["member"]), "How long before the end of a quarter may parties end the agreement?")
    assert re.search(r"<strong>(High|Medium) confidence</strong> · \d+ % ", answer)


def test_what_no_passage_mentions_is_named_once(world: World) -> None:
    ingest_text(world.source(), "notice", "The parties may end the agreement ninety days before the end of a quarter.")
    answer = ask(browser(world.users["member"]), "Which zeppelin lands at the harbour?")
    assert "<strong>No answer</strong>" in answer
    assert answer.count("zeppelin") == 1


def test_a_gap_is_not_named_by_a_longer_word() -> None:
    text, gaps = "They start at noon.", ("art", "noon")
    answer = ReadableAnswer(text, (), 0.0, "extractive", (), gaps, citations_dropped=0, unsupported_sentences=())
    assert show_answer(answer).gaps == ("art",)


def test_an_answer_of_a_model_without_passages_says_nothing_about_them(
    world: World, language_model: ProviderServer
) -> None:
    ingest_text(world.source(), "notice", "The parties may end the agreement ninety days before the end of a quarter.")
    language_model.replies = ["That depends on the weather, I believe."]
    answer = ask(browser(world.users["member"]), "How long before the end of a quarter may parties end the agreement?")
    assert "The language model answered without the passages." in answer
    assert "clearly answers" not in answer, "a passage does answer the question"
    assert "Ask in other words" in answer
