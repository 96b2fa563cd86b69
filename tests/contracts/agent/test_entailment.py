"""The agent's answers and its validator, with an entailment model."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contracts.agent.helpers import VALIDATE, ZEBRAS, ask, tool_outputs
from tests.support.factories import World, ingest_text
from tests.support.http import Client
from tests.support.servers.provider_server import ProviderServer, tool_call

REVERSED = "White and black stripes have zebras."


@pytest.fixture
def entailment_model(settings: Any) -> Iterator[ProviderServer]:
    with ProviderServer().running() as server:
        settings.RAG_ENTAILMENT_MODEL, settings.RAG_ENTAILMENT_DIALECT = "test-nli", "score"
        settings.RAG_ENTAILMENT_BASE_URL = server.base_url
        yield server


def test_an_answer_that_no_passage_entails(
    member: Client, model_provider: ProviderServer, entailment_model: ProviderServer
) -> None:
    for probability, is_grounded in ((0.9, True), (0.02, False)):
        entailment_model.probabilities = {REVERSED: probability}
        model_provider.replies = [REVERSED]
        reply = ask(member).body
        assert (reply["answer"], reply["grounding_validation_passed"]) == (REVERSED, is_grounded)
        assert (reply["confidence_score"] > 0) is is_grounded
    assert len(entailment_model.requests) == 2


def test_the_validator_says_that_the_model_failed(
    member: Client, model_provider: ProviderServer, entailment_model: ProviderServer
) -> None:
    draft = {"response": REVERSED, "context": ZEBRAS, "sources": []}
    model_provider.replies = [tool_call(VALIDATE, draft), REVERSED]
    entailment_model.fail(500)
    entailment_model.fail(500)
    reply = ask(member)
    (verdict,) = tool_outputs(model_provider)
    assert "entailment model did not answer" in verdict["validation_details"]
    assert verdict["is_valid"]
    assert (reply.status, reply.body["grounding_validation_passed"]) == (200, True), "the words decide"


def test_quoted_answers_are_not_sent(member: Client, live_world: World, entailment_model: ProviderServer) -> None:
    """The row of a table is written with its headings, so it does not stand in the passages word by word."""
    rows = "| Rule | 2023 (old) | 2025 (current) |\n|---|---|---|\n| Rest in 7 days | 77 hours | 84 hours |"
    ingest_text(live_world.source("staff"), "/rest.md", f"# Sailor Rest Policy\n\n## Minimum rest\n\n{rows}")
    reply = ask(member, "Minimum rest in 7 days under the current sailor rest policy").body
    assert "2025 (current): 84 hours" in reply["answer"]
    assert entailment_model.requests == []
