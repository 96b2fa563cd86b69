"""Follow-up questions: detecting, expanding and rewriting them (benchmarks/follow_ups.py measures the effect)."""

import json

import pytest

from benchmarks.follow_ups import DATA
from rag.pipeline.retrieval.query import follow_up_questions
from rag.providers.language_models.openai import OpenAILanguageModel
from rag.types import Message
from tests.support.servers.provider_server import ProviderServer

EARLIER_MESSAGES = [Message("user", "When does the pool open in summer?"), Message("assistant", "At seven.")]
MESSAGES = [*EARLIER_MESSAGES, Message("user", "And in winter?")]


@pytest.mark.parametrize(
    "question", ["And in winter?", "What about dogs?", "Can I take them there?", "Helmets too?", "Und im Winter?", "?"]
)
def test_questions_that_are_incomplete_alone_are_follow_ups(question: str) -> None:
    assert follow_up_questions.is_follow_up(question)


@pytest.mark.parametrize(
    "question",
    [
        "Was ist mit Hunden, Katzen und anderen Tieren im Garten?",
        "Und was kostet der Eintritt für Kinder unter zwölf Jahren?",
        "Wie sieht es mit Hunden, Katzen und anderen Tieren aus?",
        "Qu’en est-il des chiens, des chats et des oiseaux du jardin ?",
        "Qu'en est-il de la piscine couverte, du sauna et du hammam ?",
        "Et les enfants de moins de douze ans, paient-ils l'entrée ?",
        "¿Y los niños menores de doce años que viven cerca?",
        "¿Qué pasa con los perros, los gatos y los pájaros del jardín?",
        "E quanto aos cães, gatos e aves do jardim?",
    ],
)
def test_questions_about_another_subject_are_follow_ups_whatever_their_length(question: str) -> None:
    assert follow_up_questions.is_follow_up(question)


@pytest.mark.parametrize(
    "question",
    [
        "Was ist mit einer Eskalation der zweiten Stufe gemeint?",
        "Was ist der Eintrittspreis für Kinder unter zwölf Jahren?",
        "Qu'est-ce qu'un contrat de maintenance annuel avec garantie ?",
        "¿Qué documentos necesito para el registro de una empresa?",
        "What is the entrance fee for children under twelve years?",
    ],
)
def test_long_questions_that_stand_alone_are_no_follow_ups(question: str) -> None:
    assert not follow_up_questions.is_follow_up(question)


def test_most_follow_ups_and_hardly_any_standalone_questions_are_detected() -> None:
    dialogues = [json.loads(line) for line in (DATA / "follow_ups.jsonl").read_text().splitlines()]
    detected = {
        is_standalone: [
            follow_up_questions.is_follow_up(dialogue["asks"])
            for dialogue in dialogues
            if bool(dialogue.get("alone")) is is_standalone
        ]
        for is_standalone in (True, False)
    }
    assert sum(detected[False]) >= 0.9 * len(detected[False]) >= 40
    assert sum(detected[True]) <= 2


def test_a_follow_up_is_expanded_by_words_of_its_subject() -> None:
    earlier = follow_up_questions.earlier_questions(MESSAGES)
    assert earlier == "When does the pool open in summer?"

    def expanded(question: str, earlier_title: str, own_title: str = "Fish") -> str:
        return follow_up_questions.expand(question, earlier, earlier_title=earlier_title, own_title=own_title)

    assert expanded("And in winter?", "Swimming pools") == "And in winter? pool"
    assert expanded("And in winter?", "p-17.md") == "And in winter? pool open summer"
    assert expanded("And the museum?", "The pool", "Museums") == "And the museum? open summer", "another subject"
    assert expanded("And the museum?", "p-17.md", "Museums") == "And the museum?"
    assert follow_up_questions.earlier_questions(MESSAGES[:1]) == ""


@pytest.mark.parametrize(
    ("reply", "rewritten"),
    [
        ("When does the pool open in winter?", "When does the pool open in winter?"),
        ('"When is the pool open in winter?"\n', "When is the pool open in winter?"),
        ("I cannot help with that.", ""),
        ("The pool opens late.\nIn winter at nine.", ""),
        ("pool " * 200, ""),
    ],
)
def test_only_one_line_about_the_conversation_is_used_as_rewritten_question(
    model_provider: ProviderServer, reply: str, rewritten: str
) -> None:
    model_provider.replies = [reply]
    model = OpenAILanguageModel(name="test-model", base_url=model_provider.base_url, api_key="", timeout=5)
    assert follow_up_questions.rewrite("And in winter?", MESSAGES, model) == rewritten
    assert "When does the pool open in summer?" in model_provider.requests[0]["messages"][1]["content"]
    model_provider.fail(400)
    assert follow_up_questions.rewrite("And in winter?", MESSAGES, model) == ""
