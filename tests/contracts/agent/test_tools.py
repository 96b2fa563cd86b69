"""The agent contract's two tools."""

from typing import Any

import pytest

from rag.services.queries import agent_tools
from tests.contracts.agent.helpers import RETRIEVE, VALIDATE, ZEBRAS, ask, tool_outputs
from tests.support.http import Client
from tests.support.servers.provider_server import ProviderServer, tool_call


def test_the_validator_tool(member: Client, model_provider: ProviderServer) -> None:
    supported = {"response": "Zebras have stripes.", "context": ZEBRAS, "sources": ["https://animals.example/zebras"]}
    invented = {**supported, "response": "Zebras live 900 years."}
    unknown = {**supported, "sources": ["https://elsewhere.example/"]}
    calls = [
        tool_call(VALIDATE, arguments, number=number) for number, arguments in enumerate((supported, invented, unknown))
    ]
    calls.append(tool_call(VALIDATE, {"response": 7}, number=4))
    model_provider.replies = [*calls, "Zebras have stripes."]
    ask(member)
    first, second, third, fourth = tool_outputs(model_provider)
    keys = {"is_valid", "validation_details", "hallucination_detected", "confidence_score"}
    assert set(first) == set(second) == set(third) == keys
    assert (first["is_valid"], first["hallucination_detected"]) == (True, False)
    assert 0.7 < first["confidence_score"] <= 1
    assert (second["is_valid"], second["hallucination_detected"], second["confidence_score"]) == (False, True, 0.0)
    assert (third["is_valid"], third["hallucination_detected"]) == (False, True)
    assert set(fourth) == {"error"}


@pytest.mark.parametrize(
    "arguments",
    [
        "{",
        {"query": 7},
        {"query": " "},
        {"query": "a", "top_k": "5"},
        {"query": "a", "top_k": 0},
        {"query": "a", "min_score": 7},
    ],
    ids=str,
)
def test_invalid_tool_arguments_are_returned_to_the_model(
    member: Client, model_provider: ProviderServer, arguments: Any
) -> None:
    model_provider.replies = [tool_call(RETRIEVE, arguments), "Zebras have stripes."]
    reply = ask(member)
    assert (reply.status, reply.body["answer"]) == (200, "Zebras have stripes.")
    assert set(tool_outputs(model_provider)[0]) == {"error"}


def test_an_unknown_tool(member: Client, model_provider: ProviderServer) -> None:
    model_provider.replies = [tool_call("DeleteEverything", {}), "Zebras have stripes."]
    assert ask(member).body["answer"] == "Zebras have stripes."


def test_tool_schemas_match_the_contract() -> None:
    def fields(schema: Any) -> dict[str, Any]:
        assert schema["required"] == list(schema["properties"])
        return {name: field["type"] for name, field in schema["properties"].items()}

    assert fields(agent_tools.RETRIEVAL_INPUT) == {"query": "string", "top_k": "integer", "min_score": "number"}
    assert fields(agent_tools.RETRIEVAL_OUTPUT) == {"chunks": "array", "retrieval_time": "number"}
    assert fields(agent_tools.RETRIEVAL_OUTPUT["properties"]["chunks"]["items"]) == {
        "text": "string",
        "source_url": "string",
        "position": "integer",
        "score": "number",
        "chunk_id": "string",
    }
    assert fields(agent_tools.VALIDATOR_INPUT) == {"response": "string", "context": "string", "sources": "array"}
    assert agent_tools.VALIDATOR_INPUT["properties"]["sources"]["items"] == {"type": "string"}
    assert fields(agent_tools.VALIDATOR_OUTPUT) == {
        "is_valid": "boolean",
        "validation_details": "string",
        "hallucination_detected": "boolean",
        "confidence_score": "number",
    }
