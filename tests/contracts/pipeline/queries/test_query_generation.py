"""POST /api/rag/query with a configured language model: its answer, its citations and its failures."""

from typing import Any

import pytest

from rag.models import Document
from tests.support.http import Client
from tests.support.servers.provider_server import ProviderServer

from .questions import OUTPUTS, QUESTION, ask


def test_a_language_model_answers_from_the_prompt(member: Client, language_model: ProviderServer) -> None:
    language_model.replies = ["Bicycles are parked in the yard [1]."]
    body = ask(member, temperature=0.3).body
    assert (body["answer"], body["model"]) == ("Bicycles are parked in the yard [1].", "test-model")
    assert [citation["path"] for citation in body["citationsUsed"]] == ["/bikes"]
    (request,) = language_model.requests
    assert request["temperature"] == 0.3
    assert request["key"] == "Bearer secret"
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert request["messages"][1]["content"] == body["prompt"]
    assert "in the language of the passages" in request["messages"][0]["content"], "a translation would be declined"


def test_unknown_citation_numbers_are_dropped(member: Client, language_model: ProviderServer) -> None:
    """Dropped citations are counted. Sentences that their cited passage does not support are removed."""
    language_model.replies = ["Bicycles are parked in the yard [1][7]. The emperor has the key of the shed [1]."] * 2
    body = ask(member).body
    assert [citation["number"] for citation in body["citationsUsed"]] == [1, 1]
    assert body["answer"] == "Bicycles are parked in the yard [1]. The emperor has the key of the shed [1]."
    assert (body["citationsDropped"], body["warnings"]) == (1, ["CONFIDENCE_UNKNOWN", "CITATIONS_DROPPED"])
    language_model.replies = [
        "Bicycles are parked in the yard [1]. Tea was invented by emperors [1]. The porter has the key."
    ]
    body = ask(member).body
    assert body["unsupportedSentences"] == ["Tea was invented by emperors"]
    assert body["answer"] == "Bicycles are parked in the yard [1]. The porter has the key."
    language_model.replies = ["Bicycles are parked in the yard [1]. The emperor ordered 4711 carriages."]
    body = ask(member).body
    assert (body["answer"], body["warnings"]) == ("Bicycles are parked in the yard [1].", ["CONFIDENCE_UNKNOWN"])
    assert body["unsupportedSentences"] == ["The emperor ordered 4711 carriages."]


def test_every_sentence_can_be_traced_to_characters(member: Client, language_model: ProviderServer) -> None:
    """The document's text[start:end] is the quote, in extractive answers and in those of a language model."""
    language_model.replies = ["You may park your bicycle in the yard [1]. The key of the shed has the porter [1]."]
    texts = {str(document.pk): document.text for document in Document.objects.all()}
    for model in ("extractive", "test-model"):
        body = ask(member, query="Where are the bicycles parked, and who has the key of the shed?", model=model).body
        assert body["model"] == model
        assert body["warnings"] == ([] if model == "extractive" else ["CONFIDENCE_UNKNOWN"])
        assert len(body["citationsUsed"]) == 2
        for cited in [*body["citationsUsed"], *body["citations"]]:
            assert texts[cited["documentId"]][cited["start"] : cited["end"]] == cited["quote"]
            assert cited["passageStart"] <= cited["start"] < cited["end"] <= cited["passageEnd"]


def test_context_ignored_is_a_warning(member: Client, language_model: ProviderServer) -> None:
    language_model.replies = ["Bicycles are parked on the roof, I believe."]
    body = ask(member).body
    assert body["warnings"] == ["CONTEXT_IGNORED"]
    assert body["answer"].startswith("No answer to this question was found")
    assert body["confidence"] == 0


def test_an_answer_that_the_passages_do_not_support(member: Client, language_model: ProviderServer) -> None:
    invented = "The emperor ordered 4711 golden carriages from Venice [1]."
    language_model.replies = [invented, invented]
    body = ask(member).body
    assert (body["warnings"], body["confidence"]) == (["NOT_GROUNDED"], 0)
    assert "emperor" not in body["answer"]
    reply = ask(member, strictMode=True)
    assert (reply.status, reply.body["error"]) == (422, "NOT_GROUNDED")


def test_a_number_in_the_question_does_not_support_the_answer(member: Client, language_model: ProviderServer) -> None:
    language_model.replies = ["Since 1987 bicycles are parked in the yard [1]."]
    body = ask(member, query="Where are the bicycles parked since 1987?").body
    assert (body["warnings"], body["confidence"]) == (["NOT_GROUNDED"], 0)
    assert "Since 1987 bicycles" not in body["answer"]


def test_generation_failed(member: Client, language_model: ProviderServer) -> None:
    for status in (400, 401, 404):
        language_model.fail(status)
        reply = ask(member)
        assert (reply.status, reply.body["error"]) == (503, "GENERATION_FAILED")
        assert reply.body["details"]["request_id"]
        assert "as the test asked" not in str(reply.body)  # the provider's message
    language_model.replies = ["  "]
    assert ask(member).body["error"] == "GENERATION_FAILED"


def test_grounding_by_the_language_model_and_its_failure(
    member: Client, language_model: ProviderServer, settings: Any
) -> None:
    settings.RAG_GROUNDING = "model"
    language_model.replies = ['{"groundable": false, "score": 0.1, "gaps": ["the year"]}']
    body = ask(member).body
    assert (body["isGroundable"], body["groundingScore"], body["gaps"]) == (False, 0.1, ["the year"])
    language_model.replies = ["no judgement", "The bicycles are in the yard. [1]"]
    body = ask(member).body
    assert body["isGroundable"], "the local judgement is used"
    assert body["warnings"] == ["GROUNDING_FAILED", "CONFIDENCE_UNKNOWN"]
    language_model.replies = ["no judgement"]
    reply = ask(member, strictMode=True)
    assert (reply.status, reply.body["error"]) == (503, "GROUNDING_FAILED")
    for status, wait in ((401, None), (429, "300")):
        language_model.fail(status, Retry_After="300")
        reply = ask(member, strictMode=True)
        assert (reply.body["error"], reply.headers.get("retry-after")) == ("GROUNDING_FAILED", wait)


@pytest.mark.parametrize(
    "verdict",
    [
        '{"groundable": "false", "score": 0.1, "gaps": []}',
        '{"groundable": "no", "score": 0.1}',
        '{"groundable": false, "score": 0.1, "gaps": "the year"}',
    ],
)
def test_a_verdict_of_other_types_is_no_verdict(
    member: Client, language_model: ProviderServer, settings: Any, verdict: str
) -> None:
    """The text "false" is true in Python, and a text has letters for gaps."""
    settings.RAG_GROUNDING = "model"
    language_model.replies = [verdict]
    assert ask(member, strictMode=True).body["error"] == "GROUNDING_FAILED"


def test_streaming(member: Client, language_model: ProviderServer) -> None:
    """Sub-contract 5: "Streaming supported": sources, tokens, then the whole object."""
    language_model.replies = ["Bicycles are parked in the yard [1]."]
    events = member.stream("/api/rag/query", {"query": QUESTION, "stream": True})
    names = [name for name, _ in events]
    assert names == ["sources", *["token"] * (len(events) - 2), "done"]
    assert len(events) > 4
    assert "".join(data["text"] for name, data in events if name == "token") == events[-1][1]["answer"]
    assert set(events[-1][1]) == OUTPUTS
    assert events[0][1]["documents"] == events[-1][1]["documents"]
    assert language_model.requests[0]["stream"] is True


def test_errors_before_the_first_event_have_a_status_and_later_ones_are_events(
    member: Client, language_model: ProviderServer
) -> None:
    assert ask(member, stream=True, template="{{").status == 422
    language_model.fail(401)
    events = member.stream("/api/rag/query", {"query": QUESTION, "stream": True})
    assert [name for name, _ in events] == ["sources", "error"]
    assert events[-1][1]["error"] == "GENERATION_FAILED"
