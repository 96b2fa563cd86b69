"""The pipeline contract, sub-contracts 3 to 5: POST /api/rag/query, over HTTP."""

from collections.abc import Callable
from typing import Any

import pytest

from orgs.access.permissions import Visibility
from rag.models import Document
from rag.text.tokens import count_tokens
from tests.support import snapshots
from tests.support.factories import World, ingest_text
from tests.support.http import Client
from tests.support.provider_server import ProviderServer

Api = Callable[..., Client]
OUTPUTS = {
    *("documents", "scores", "totalFound", "dataSources"),  # sub-contract 2
    *("prompt", "includedDocs", "tokenCount", "citations"),  # 3
    *("isGroundable", "groundingScore", "relevantDocs", "gaps"),  # 4
    *("answer", "citationsUsed", "confidence"),  # 5
    *("warnings", "model", "citationsDropped", "unsupportedSentences"),
}
QUESTION = "Where are the bicycles parked?"


@pytest.fixture
def member(api: Api, live_world: World) -> Client:
    """A member of an organisation with three documents, one of which the member may not read."""
    library = live_world.source("library")
    ingest_text(
        library, "/bikes", "Bicycles are parked in the yard. The porter has the key of the shed.", title="Bicycles"
    )
    ingest_text(library, "/tea", "The kettle is on the second floor. Water boils at 100 degrees.", title="Tea")
    closed = live_world.source("closed", visibility=Visibility.PRIVATE)
    ingest_text(closed, "/secret", "Bicycles of the board are parked in the cellar.", title="Secret")
    return api("member")


def ask(client: Client, **fields: Any) -> Any:
    return client.post("/api/rag/query", {"query": QUESTION, **fields})


def test_all_outputs_of_the_sub_contracts(member: Client) -> None:
    reply = ask(member)
    assert reply.status == 200
    assert set(reply.body) == OUTPUTS
    snapshots.matches("pipeline-query", reply.body)
    assert "kettle" not in reply.body["prompt"], "4: irrelevant documents are filtered out before generation"
    assert reply.body["answer"] == "Bicycles are parked in the yard. [1]"
    assert reply.body["model"] == "extractive"
    assert reply.body["isGroundable"] is True
    assert 0 < reply.body["groundingScore"] <= 1
    assert 0 < reply.body["confidence"] <= 1
    assert [document["path"] for document in reply.body["relevantDocs"]] == ["/bikes"]
    (used,) = reply.body["citationsUsed"]
    assert (used["number"], used["path"], used["quote"]) == (1, "/bikes", "Bicycles are parked in the yard.")
    assert used["documentId"] == reply.body["documents"][0]["documentId"]


def test_the_answer_contains_nothing_that_the_caller_may_not_read(member: Client) -> None:
    assert "cellar" not in str(ask(member).body)


def test_the_prompt_fits_and_keeps_context_and_query_apart(member: Client) -> None:
    """Guarantees: "Prompt fits within maxTokens", "Most relevant docs included first", "Citations mapped to source
    documents", "Clear separation of context and query"."""
    body = ask(member, maxTokens=90).body
    assert body["tokenCount"] == count_tokens(body["prompt"]) <= 90
    assert body["includedDocs"] == len(body["citations"]) == 1
    assert body["citations"][0]["path"] == "/bikes"
    assert body["prompt"].index("[1] Bicycles") < body["prompt"].index(f"Question: {QUESTION}")


def test_a_custom_template(member: Client) -> None:
    assert ask(member, template="Q: {{query}}\nC: {{ context }}").body["prompt"].startswith(f"Q: {QUESTION}\nC: [1] ")


@pytest.mark.parametrize(
    "template", ["{{ context }}", "{{ query }} alone", "{{ context }} {{ query }} {{ settings }}", "{{ context }} {{"]
)
def test_template_error(member: Client, template: str) -> None:
    reply = ask(member, template=template)
    assert (reply.status, reply.body["error"]) == (422, "TEMPLATE_ERROR")


def test_templates_execute_no_code(member: Client) -> None:
    for hostile in ("{% for i in x %}", "{{ ''.__class__ }}", "{{ 7*7 }}", "${context}", "%(context)s"):
        reply = ask(member, template="{{ context }} {{ query }} " + hostile)
        assert reply.status == 422 or hostile in reply.body["prompt"]


def test_context_overflow(member: Client) -> None:
    reply = ask(member, maxTokens=64, template="word " * 60 + "{{ context }} {{ query }}")
    assert (reply.status, reply.body["error"]) == (422, "CONTEXT_OVERFLOW")
    assert reply.body["details"]["needed"] > 64


def test_a_question_that_the_sources_cannot_answer_is_declined(member: Client) -> None:
    """NOT_GROUNDED, when not strict: a warning in a 200 whose answer says so and whose confidence is 0."""
    body = ask(member, query="Who painted the Mona Lisa?").body
    assert body["warnings"] == ["NOT_GROUNDED"]
    assert body["isGroundable"] is False
    assert body["confidence"] == 0
    assert body["answer"].startswith("The sources do not contain the answer")
    assert body["gaps"] == ["painted", "Mona Lisa"]
    assert body["citationsUsed"] == []
    assert body["model"] is None


def test_insufficient_context_when_strict(member: Client) -> None:
    reply = ask(member, query="Who painted the Mona Lisa?", strictMode=True)
    assert (reply.status, reply.body["error"]) == (422, "INSUFFICIENT_CONTEXT")
    assert reply.body["details"]["gaps"] == ["painted", "Mona Lisa"]


def test_no_results_and_no_sources(api: Api, live_world: World) -> None:
    assert ask(api("member")).body["error"] == "NO_ACCESSIBLE_SOURCES"
    live_world.source("empty")
    reply = ask(api("member"))
    assert (reply.status, reply.body["error"]) == (404, "NO_RESULTS")


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


def test_unknown_citation_numbers_are_dropped(member: Client, language_model: ProviderServer) -> None:
    """Dropped citations are counted. Sentences that their cited passage does not support are removed."""
    language_model.replies = ["Bicycles are parked in the yard [1][7]. The emperor has the key of the shed [1]."] * 2
    body = ask(member).body
    assert [citation["number"] for citation in body["citationsUsed"]] == [1, 1]
    assert body["answer"] == "Bicycles are parked in the yard [1]. The emperor has the key of the shed [1]."
    assert (body["citationsDropped"], body["warnings"]) == (1, ["CITATIONS_DROPPED"])
    language_model.replies = [
        "Bicycles are parked in the yard [1]. Tea was invented by emperors [1]. The porter has the key."
    ]
    body = ask(member).body
    assert body["unsupportedSentences"] == ["Tea was invented by emperors"]
    assert body["answer"] == "Bicycles are parked in the yard [1]. The porter has the key."
    language_model.replies = ["Bicycles are parked in the yard [1]. The emperor ordered 4711 carriages."]
    body = ask(member).body
    assert (body["answer"], body["warnings"]) == ("Bicycles are parked in the yard [1].", [])
    assert body["unsupportedSentences"] == ["The emperor ordered 4711 carriages."]


def test_every_sentence_can_be_traced_to_characters(member: Client, language_model: ProviderServer) -> None:
    """The document's text[start:end] is the quote, in extractive answers and in those of a language model."""
    language_model.replies = ["You may park your bicycle in the yard [1]. The key of the shed has the porter [1]."]
    texts = {str(document.pk): document.text for document in Document.objects.all()}
    for model in ("extractive", "test-model"):
        body = ask(member, query="Where are the bicycles parked, and who has the key of the shed?", model=model).body
        assert body["model"] == model
        assert len(body["citationsUsed"]) == 2
        for cited in [*body["citationsUsed"], *body["citations"]]:
            assert texts[cited["documentId"]][cited["start"] : cited["end"]] == cited["quote"]
            assert cited["passageStart"] <= cited["start"] < cited["end"] <= cited["passageEnd"]


def test_the_answer_names_what_was_not_found(member: Client) -> None:
    """An extractive answer names the parts of the question without results."""
    body = ask(member, query="Where are the bicycles parked, and is there a helicopter?").body
    assert "helicopter" in body["gaps"]
    assert body["answer"] == "Bicycles are parked in the yard. [1] Nothing was found about: helicopter."


def test_a_declined_answer_shows_the_closest_passage_as_such(member: Client) -> None:
    body = ask(member, query="Which emperor ordered golden carriages from Venice?").body
    assert (body["confidence"], body["citationsUsed"], body["warnings"]) == (0, [], ["NOT_GROUNDED"])
    assert body["answer"].startswith("The sources do not contain the answer")
    assert "The closest passage is in “" in body["answer"]


def test_context_ignored_is_a_warning(member: Client, language_model: ProviderServer) -> None:
    language_model.replies = ["Bicycles are parked on the roof, I believe."]
    body = ask(member).body
    assert body["warnings"] == ["CONTEXT_IGNORED"]
    assert body["answer"].startswith("The sources do not contain the answer")
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
    assert (body["isGroundable"], body["warnings"]) == (True, ["GROUNDING_FAILED"]), "the local judgement is used"
    language_model.replies = ["no judgement"]
    reply = ask(member, strictMode=True)
    assert (reply.status, reply.body["error"]) == (503, "GROUNDING_FAILED")
    language_model.fail(401)
    assert ask(member, strictMode=True).body["error"] == "GROUNDING_FAILED"


def test_rerank_by_a_configured_endpoint(member: Client, provider: ProviderServer, settings: Any) -> None:
    settings.RAG_RERANK_MODEL, settings.RAG_RERANK_BASE_URL = "test-rerank", provider.base_url
    body = ask(member, rerankModel="test-rerank").body
    assert body["scores"] == sorted(body["scores"], reverse=True)
    assert provider.requests[0]["query"] == QUESTION
    provider.fail(500)
    reply = ask(member, rerankModel="test-rerank")
    assert (reply.status, reply.body["error"]) == (503, "RERANK_FAILED")
    provider.fail(500)
    assert ask(member).body["warnings"] == ["RERANK_FAILED"]  # the default rerank model is optional
    reply = ask(member, rerankModel="another")
    assert (reply.status, reply.body["error"]) == (400, "INVALID_REQUEST")
    assert reply.body["details"]["field"] == "rerankModel"


def test_reranking_orders_by_more_than_the_cosine(api: Api, live_world: World) -> None:
    """Guarantee: "Reranking improves precision over embedding similarity": a rare word of the question decides."""
    source = live_world.source("manuals")
    ingest_text(source, "/a", "How to repair the pump, and what to do when the pump does not start.", title="Pump")
    ingest_text(source, "/b", "The QX-7000 is oiled twice a year.", title="Appendix")
    question = {"query": "What to do with the pump QX-7000", "dataSources": ["manuals"]}
    member = api("member")
    plain = member.post("/api/rag/retrieve", {**question, "mode": "dense", "rerank": False}).body
    assert plain["scores"] == [document["score"] for document in plain["documents"]]
    ranked = member.post("/api/rag/retrieve", question).body
    assert ranked["scores"] == sorted(ranked["scores"], reverse=True)
    assert {document["path"]: document["score"] for document in ranked["documents"]} == {
        document["path"]: document["score"] for document in plain["documents"]
    }


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


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"query": ""}, "query"),
        ({"maxTokens": 0}, "maxTokens"),
        ({"maxTokens": 10**9}, "maxTokens"),
        ({"temperature": 3}, "temperature"),
        ({"strictMode": "yes"}, "strictMode"),
        ({"stream": 1}, "stream"),
        ({"template": ""}, "template"),
        ({"topK": 101}, "topK"),
        ({"model": "gpt"}, "model"),  # no model is configured, and a requested model must exist
    ],
)
def test_invalid_fields_are_named(member: Client, fields: dict[str, Any], field: str) -> None:
    reply = ask(member, **fields)
    assert (reply.status, reply.body["error"]) == (400, "INVALID_REQUEST")
    assert reply.body["details"]["field"] == field


def test_a_question_that_is_perhaps_answered_is_declined_in_other_words(member: Client) -> None:
    """The closest passage may be the answer, so it is not said that the sources lack it."""
    body = ask(member, query="Are cars parked somewhere?").body
    assert (body["confidence"], body["citationsUsed"], body["warnings"]) == (0, [], ["NOT_GROUNDED"])
    assert body["answer"].startswith("No passage clearly answers this question. The closest passage is in “")
