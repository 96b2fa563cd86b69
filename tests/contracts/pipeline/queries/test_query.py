"""The pipeline contract, sub-contracts 3 to 5: POST /api/rag/query, over HTTP."""

from types import SimpleNamespace
from typing import Any

import pytest

from rag.providers import provider_factory
from rag.text.token_counts import count_tokens
from tests.support.checks import snapshots
from tests.support.factories import World, ingest_text
from tests.support.http import Client
from tests.support.servers.provider_server import ProviderServer

from .questions import OUTPUTS, QUESTION, Api, ask


def test_all_outputs_of_the_sub_contracts(member: Client) -> None:
    reply = ask(member)
    assert reply.status == 200
    assert set(reply.body) == OUTPUTS
    snapshots.assert_matches("pipeline-query", reply.body)
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
    assert body["answer"].startswith("No answer to this question was found")
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


def test_the_answer_names_what_was_not_found(member: Client) -> None:
    """An extractive answer names the parts of the question without results."""
    body = ask(member, query="Where are the bicycles parked, and is there a helicopter?").body
    assert "helicopter" in body["gaps"]
    gaps = "The passages that were found do not mention: helicopter."
    assert body["answer"] == f"Bicycles are parked in the yard. [1] {gaps}"


def test_a_declined_answer_shows_the_closest_passage_as_such(member: Client) -> None:
    body = ask(member, query="Which emperor ordered golden carriages from Venice?").body
    assert (body["confidence"], body["citationsUsed"], body["warnings"]) == (0, [], ["NOT_GROUNDED"])
    assert body["answer"].startswith("No answer to this question was found")
    assert "The closest passage is in “" in body["answer"]


def test_the_passage_that_comes_next_is_shown_if_it_is_similar(member: Client, live_world: World) -> None:
    source = live_world.source("airfield")
    yard = "# Yard\n\nThe parking of helicopters in the yard costs four euros."
    hall = "# Hall\n\nThe hall is where helicopters are repaired in winter."
    for path, text in (("yard.md", yard), ("hall.md", hall), ("soup.md", "# Soup\n\nPeel the carrots first.")):
        ingest_text(source, path, text)
    question = "Which emperor paid the parking of helicopters in Venice?"
    first, _, second = ask(member, query=question, dataSources=["airfield"]).body["answer"].partition("\n\n")
    assert first.endswith("The parking of helicopters in the yard costs four euros.")
    assert second == "The next closest is in “hall.md › Hall”: The hall is where helicopters are repaired in winter."
    answer = ask(member, query="Who carved the carrots of the moon?", dataSources=["airfield"]).body["answer"]
    assert "soup.md" in answer
    assert "next closest" not in answer, "no other passage is similar"
    ingest_text(source, "hall.md", "# Hall of helicopters")
    answer = ask(member, query=question, dataSources=["airfield"]).body["answer"]
    assert answer.endswith("costs four euros."), "the next passage is only a heading"


def test_a_closest_passage_that_is_a_row_begins_a_line(member: Client, live_world: World) -> None:
    fees = "| fee | amount |\n| --- | --- |\n| parking of helicopters | 4 euros |"
    ingest_text(live_world.home.sources.get(slug="library"), "fees.md", f"# Fees\n\n{fees}")
    body = ask(member, query="Which emperor paid the parking of helicopters in Venice?").body
    assert "”:\n- parking of helicopters" in body["answer"]


def test_the_closest_passage_is_below_its_own_heading(member: Client, live_world: World) -> None:
    """Short sections are one chunk, whose first heading is not that of the others."""
    text = "# Yard\n\n## May dogs come?\n\nOnly on a lead.\n\n## Helicopters\n\nThe helicopters are parked in the yard."
    ingest_text(live_world.home.sources.get(slug="library"), "yard.md", text)
    body = ask(member, query="Which emperor paid the parking of helicopters in Venice?").body
    assert "in “yard.md › Helicopters”: The helicopters are parked" in body["answer"]


def test_the_title_of_the_closest_passage_changes_nothing_around_it(member: Client, live_world: World) -> None:
    """Clients load no picture that the title names, and its direction of writing ends with the title."""
    title = "\u202eFees ![bell](https://x.example)"
    text = "# Parking\n\nThe parking of helicopters costs four euros."
    ingest_text(live_world.home.sources.get(slug="library"), "fees.md", text, title=title)
    body = ask(member, query="Which emperor paid the parking of helicopters in Venice?").body
    assert "in “\u202eFees ! [bell](https://x.example) › Parking\u202c”" in body["answer"]


def test_rerank_by_a_configured_endpoint(member: Client, model_provider: ProviderServer, settings: Any) -> None:
    settings.RAG_RERANK_MODEL, settings.RAG_RERANK_BASE_URL = "test-rerank", model_provider.base_url
    body = ask(member, rerankModel="test-rerank").body
    assert body["scores"] == sorted(body["scores"], reverse=True)
    assert model_provider.requests[0]["query"] == QUESTION
    model_provider.fail(500)
    reply = ask(member, rerankModel="test-rerank")
    assert (reply.status, reply.body["error"]) == (503, "RERANK_FAILED")
    model_provider.fail(500)
    assert ask(member).body["warnings"] == ["RERANK_FAILED"]  # the default rerank model is optional
    reply = ask(member, rerankModel="another", filters=[{"field": "tags", "value": "without results"}])
    assert (reply.status, reply.body["error"]) == (400, "INVALID_REQUEST"), "it is refused before the search"
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


def test_a_question_like_the_closest_heading_is_declined_in_other_words_too(live_world: World, member: Client) -> None:
    """Its own words are missing, but somebody who reads the heading sees that it may be the answer."""
    text = "# House\n\n## Can I bring my dog to the office?\n\nOnly guide dogs.\n\n## Who has keys?\n\nThe porter."
    ingest_text(live_world.source("rules"), "/rules.md", text)
    body = ask(member, query="May colleagues come along with a puppy?").body
    assert body["groundingScore"] < 0.15
    assert body["answer"].startswith("No passage clearly answers this question.")
    body = ask(member, query="Is my kitten welcome on Mondays at your premises?").body
    assert body["answer"].startswith("No answer to this question was found")


def test_a_question_for_what_no_quote_has_is_declined(live_world: World, member: Client) -> None:
    text = "# Hut\n\n## Whom do I call at night?\n\nAt night you call the duty phone of the porter."
    ingest_text(live_world.source("rules"), "/rules.md", text)
    question = "What is the number of the duty phone that I call at night?"
    assert ask(member, query="Whom do I call at night?").body["confidence"] > 0
    body = ask(member, query=question.replace("number of the duty phone", "phone number")).body
    assert (body["confidence"], body["citationsUsed"], body["warnings"]) == (0, [], ["NOT_GROUNDED"])
    assert body["answer"].startswith("No passage clearly answers this question. The closest passage is in “")
    reply = ask(member, query="What is the phone number that I call at night?", strictMode=True)
    assert (reply.status, reply.body["error"]) == (422, "INSUFFICIENT_CONTEXT")


def test_a_question_for_something_else_of_the_same_thing_is_declined(live_world: World, member: Client) -> None:
    text = "# House\n\n## Main hall\n\nThe main hall is led by Peter Keller, and closed on Mondays."
    ingest_text(live_world.source("rules"), "/rules.md", text)
    assert ask(member, query="Who leads the main hall?").body["confidence"] > 0
    body = ask(member, query="When was the main hall built?").body
    assert body["groundingScore"] > 1 / 3, "the passage has words of the question"
    assert (body["confidence"], body["citationsUsed"], body["warnings"]) == (0, [], ["NOT_GROUNDED"])
    assert "The main hall is led by Peter Keller" in body["answer"], "the closest passage is shown"


def test_the_confidence_follows_the_model_that_reads_question_and_quotes(
    live_world: World, member: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "# House\n\n## Main hall\n\nThe main hall is led by Peter Keller, and closed on Mondays."
    ingest_text(live_world.source("rules"), "/rules.md", text)

    def ask_with(logit: float) -> Any:
        model = SimpleNamespace(logit=lambda question, text: logit)
        monkeypatch.setattr(provider_factory, "answer_check", lambda: model)
        return ask(member, query="Who leads the main hall?").body

    unsure, sure, declined = ask_with(-0.6), ask_with(1.0), ask_with(-1.0)
    assert unsure["answer"] == sure["answer"]
    assert 0 < unsure["confidence"] < 0.5 < sure["confidence"] < 1
    assert unsure["groundingScore"] == sure["groundingScore"], "this is about the words of the passages"
    assert (declined["confidence"], declined["warnings"]) == (0, ["NOT_GROUNDED"])
