"""The retrieval contract, Endpoint 2: POST /api/rag/answer and POST /functions/v1/rag-answer, over HTTP."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils.dateparse import parse_datetime

from orgs.access.permissions import Visibility
from rag.models import DataSource, EmbeddingModel
from rag.text.token_counts import count_tokens
from rag.types import Submission
from tests.support.checks import snapshots
from tests.support.factories import World, ingest_text, ingest_together
from tests.support.http import Client
from tests.support.servers.provider_server import ProviderServer

Api = Callable[..., Client]
FIELDS = {"status", "query_text", "answer", "citations", "context_used", "processing_time_ms"}
CITATION = {"source_id", "source_type", "source_title", "source_uri", "snippet", "relevance_score", "meta"}
QUESTION = "Where are the bicycles parked?"
INSUFFICIENT = (
    "I don't have enough relevant information to answer this question confidently. "
    "Here are the most relevant sources I found:"
)


@pytest.fixture
def member(api: Api, live_world: World, settings: Any) -> Client:
    settings.RAG_CONFIDENCE_HIGH_THRESHOLD, settings.RAG_CONFIDENCE_MEDIUM_THRESHOLD = 0.75, 0.60
    library = live_world.source("library")
    long = "\n\n".join(
        f"# Bicycle shed {n}\n\nBicycles are parked in shed {n}. " + "It is dry. " * 60 for n in range(4)
    )
    address, metadata = "https://example.com/sheds", {"call_sid": "CA1"}
    yards = [
        Submission(f"/yard/{number}", f"Yard {number}", text=f"Bicycles are parked in the yard {number}.")
        for number in range(6)
    ]
    ingest_together(library, Submission("sheds.md", "Sheds", text=long, uri=address, metadata=metadata), *yards)
    ingest_text(
        live_world.source("closed", visibility=Visibility.PRIVATE), "/x", "Bicycles in the cellar.", title="Hidden"
    )
    return api("member")


def ask(client: Client, path: str = "/api/rag/answer", **fields: Any) -> Any:
    return client.post(path, {"query_text": QUESTION, **fields})


def stable_fields(body: dict[str, Any]) -> dict[str, Any]:
    """The body for a snapshot, without the order of similar scores and without times."""
    return {**body, "citations": body["citations"][:1], "processing_time_ms": 0}


def set_thresholds(settings: Any, high: float, medium: float) -> None:
    settings.RAG_CONFIDENCE_HIGH_THRESHOLD, settings.RAG_CONFIDENCE_MEDIUM_THRESHOLD = high, medium


@pytest.mark.parametrize("path", ["/api/rag/answer", "/functions/v1/rag-answer", "/api/rag/answer/"])
def test_case_1_sufficient_context(member: Client, path: str, settings: Any) -> None:
    set_thresholds(settings, 0.5, 0.4)
    reply = ask(member, path)
    assert reply.status == 200
    body = reply.body
    snapshots.assert_matches("retrieval-answer", stable_fields(body))
    assert set(body) == FIELDS
    assert (body["status"], body["query_text"]) == ("success", QUESTION)
    assert set(body["answer"]) == {"text", "confidence", "model", "generated_at"}
    assert body["answer"]["model"] == "extractive"
    assert body["answer"]["text"].startswith("Bicycles are parked in")
    assert parse_datetime(body["answer"]["generated_at"])
    assert set(body["context_used"]) == {"chunks_retrieved", "unique_sources", "avg_relevance"}
    assert body["context_used"]["chunks_retrieved"] == 8
    assert isinstance(body["processing_time_ms"], int)


def test_case_2_insufficient_context(member: Client, language_model: ProviderServer) -> None:
    """ "Skip LLM call; return "insufficient context" message; include top snippets as citations"."""
    body = ask(member, query_text="Who painted the Mona Lisa?").body
    snapshots.assert_matches("retrieval-answer-insufficient", stable_fields(body))
    assert set(body) == FIELDS
    assert body["status"] == "insufficient_context"
    assert (body["answer"]["text"], body["answer"]["confidence"], body["answer"]["model"]) == (
        INSUFFICIENT,
        "low",
        None,
    )
    assert body["context_used"]["avg_relevance"] < 0.6
    assert body["citations"]
    assert language_model.requests == []


def test_citations_are_deduplicated_by_document(member: Client) -> None:
    """ "Group chunks by source_id; keep highest-scoring chunk per source; limit to top 5 unique sources"."""
    chunks = member.post("/api/rag/search", {"query_text": QUESTION, "top_k": 20}).body["results"]
    assert len({document["source_id"] for document in chunks}) < len(chunks)
    best: dict[str, float] = {}
    for document in chunks:
        best.setdefault(document["source_id"], document["score"])
    body = ask(member, top_k=20).body
    cited = [(citation["source_id"], citation["relevance_score"]) for citation in body["citations"]]
    assert cited == list(best.items())[:5]
    assert len(cited) == 5
    assert body["context_used"]["unique_sources"] == len(best)
    assert all(set(citation) == CITATION for citation in body["citations"])


def test_confidence_is_the_mean_of_the_top_five(member: Client, settings: Any) -> None:
    """ "avg_relevance = mean(scores of top 5 chunks)": high from 0.75, medium from 0.60, low below; from settings."""
    scores = [result["score"] for result in member.post("/api/rag/search", {"query_text": QUESTION}).body["results"]]
    mean = sum(scores[:5]) / 5
    for high, medium, level in ((mean, 0.1, "high"), (mean + 0.01, mean, "medium"), (0.99, mean + 0.01, "low")):
        set_thresholds(settings, high, medium)
        body = ask(member).body
        assert body["answer"]["confidence"] == level
        assert body["context_used"]["avg_relevance"] == pytest.approx(mean)


def test_an_embedding_model_may_have_its_own_thresholds(member: Client) -> None:
    EmbeddingModel.objects.update(confidence_high=0.2, confidence_medium=0.1)
    assert ask(member).body["answer"]["confidence"] == "high"


def test_the_prompt(member: Client, language_model: ProviderServer, settings: Any) -> None:
    """The template of "Generate answer", with at most 3,000 tokens of context."""
    set_thresholds(settings, 0.5, 0.4)
    language_model.replies = ["In the yard (Yard 1)."]
    for number in range(6):
        ingest_text(
            DataSource.objects.get(slug="library"),
            f"/rain/{number}",
            f"Bicycles are parked {number}. " * 100,
            title="Rain",
        )
    body = ask(member, top_k=50).body
    assert (body["answer"]["text"], body["answer"]["model"]) == ("In the yard (Yard 1).", "test-model")
    prompt = language_model.requests[0]["messages"][-1]["content"]
    assert prompt.startswith("Context:\n")
    assert f"\n\nQuestion: {QUESTION}\n\nInstructions: Answer the question based ONLY on the context above. " in prompt
    assert prompt.endswith(
        "If the context doesn't contain enough information, say so. Keep the answer concise (100-500 words). "
        "Cite sources by mentioning their titles."
    )
    assert "Bicycles are parked in the yard 3." in prompt
    context = prompt.removeprefix("Context:\n").partition("\n\nQuestion: ")[0]
    assert 2_000 < count_tokens(context) <= 3_000, "the passages together are longer"


def test_only_sources_that_the_caller_may_read(member: Client, api: Api) -> None:
    assert "cellar" not in str(ask(member, top_k=50).body)
    foreign = ask(api("foreigner")).body
    assert (foreign["status"], foreign["citations"]) == ("insufficient_context", [])


def test_filters(member: Client) -> None:
    assert ask(member, filters={"source_type": "email"}).body["citations"] == []
    assert ask(member, filters={"source_type": "doc"}).body["citations"]


def test_a_busy_provider_is_503_and_a_failing_provider_500(
    member: Client, language_model: ProviderServer, settings: Any
) -> None:
    """ "Handle 429 from AI Gateway gracefully → return 503 to user"; "500: … LLM timeout"."""
    set_thresholds(settings, 0.5, 0.4)
    settings.LLM_TIMEOUT = 0.5
    for _ in range(3):
        language_model.fail(429)
    reply = ask(member)
    assert (reply.status, reply.body["status"], reply.body["error"]) == (503, "error", "Service unavailable")
    language_model.stall.clear()
    reply = ask(member)
    language_model.stall.set()
    assert (reply.status, reply.body["status"], reply.body["error"]) == (500, "error", "Internal server error")
    assert reply.body["details"]["request_id"]


def test_streaming(member: Client, language_model: ProviderServer, settings: Any) -> None:
    set_thresholds(settings, 0.5, 0.4)
    language_model.replies = ["In the yard."]
    events = member.stream("/api/rag/answer", {"query_text": QUESTION, "stream": True})
    assert [name for name, _ in events] == ["sources", "token", "token", "token", "done"]
    assert set(events[-1][1]) == FIELDS
    assert events[0][1]["citations"] == events[-1][1]["citations"]
    declined = member.stream("/api/rag/answer", {"query_text": "Who painted the Mona Lisa?", "stream": True})
    assert [name for name, _ in declined] == ["sources", "token", "done"]
    assert (declined[-1][1]["status"], declined[-1][1]["answer"]["text"]) == ("insufficient_context", INSUFFICIENT)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "query_text"),
        ({"query_text": ""}, "query_text"),
        ({"query_text": "x" * 501}, "query_text"),
        ({"query_text": "x", "top_k": 51}, "top_k"),
        ({"query_text": "x", "top_k": 0}, "top_k"),
        ({"query_text": "x", "filters": {"source_type": "pdf"}}, "filters.source_type"),
        ({"query_text": "x", "filters": {"date_from": "yesterday"}}, "filters.date_from"),
    ],
)
def test_invalid_fields_are_named(api: Api, body: dict[str, Any], field: str) -> None:
    reply = api("member").post("/api/rag/answer", body)
    assert (reply.status, reply.body["status"], reply.body["error"]) == (400, "error", "Validation error")
    assert reply.body["details"]["field"] == field
