"""/api/schema: what generators of typed clients need. `make clients` compiles a generated client and calls with it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ragsite.views.api_reference import get_schema
from tests.support.checks import conformance

# Keywords that give a schema a type. `{}` is any JSON value.
TYPES = {"$ref", "type", "enum", "const", "anyOf", "oneOf", "allOf"}


def schemas() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema of the document with its place, members of unions and fields included."""
    pending = [(f"/{name}", schema) for name, schema in get_schema()["components"]["schemas"].items()]
    while pending:
        place, schema = pending.pop()
        yield place, schema
        pending += [(f"{place}/{name}", item) for name, item in schema.get("properties", {}).items()]
        pending += [(f"{place}/items", schema["items"])] if "items" in schema else []
        for union in ("anyOf", "oneOf", "allOf"):
            pending += [(f"{place}/{union}/{index}", item) for index, item in enumerate(schema.get(union, ()))]


def test_every_field_and_every_member_of_a_union_has_a_type() -> None:
    for place, schema in schemas():
        assert TYPES & schema.keys(), f"{place} is any JSON value"
        assert schema.get("type") != "array" or "items" in schema, f"{place} is a list of any JSON values"
        if "properties" in schema:
            assert not {"anyOf", "oneOf"} & schema.keys(), f"{place} has properties beside variants"


def test_optional_fields_have_no_default() -> None:
    """Generators for TypeScript make a field with a `default` a required one."""
    assert [place for place, schema in schemas() if "default" in schema] == []
    requests = get_schema()["components"]["schemas"]
    assert requests["PipelineQueryRequest"]["properties"]["topK"]["description"] == "Default: `10`."


def test_streams_are_texts_with_described_events() -> None:
    streams = 0
    for path, methods in get_schema()["paths"].items():
        for response in (response for item in methods.values() for response in item["responses"].values()):
            if stream := response.get("content", {}).get("text/event-stream"):
                streams += 1
                assert (stream["schema"]["type"], "x-item-schema" in stream["schema"]) == ("string", True), path
    assert streams == 5


def test_events_that_violate_the_schema_are_detected() -> None:
    """Tests the check that every event in these tests passes."""
    conformance.check_event("/api/chat", "token", {"text": "The"})
    conformance.check_event("/api/chat", "sources", {"ragSources": []})
    for event, data in (("token", {}), ("sources", {"citations": []}), ("word", {"text": "The"})):
        with pytest.raises(AssertionError):
            conformance.check_event("/api/chat", event, data)


@pytest.mark.parametrize(
    ("name", "value", "is_valid"),
    [
        ("PipelineDocumentRequest", {"text": "a"}, True),
        ("PipelineDocumentRequest", {"contentBase64": "YQ==", "contentType": "text/plain"}, True),
        ("PipelineDocumentRequest", {"text": "a", "contentBase64": "YQ=="}, False),
        ("PipelineDocumentRequest", {"title": "a"}, False),
        ("PipelineFilterRequest", {"field": "tags", "value": ["a"]}, True),
        ("PipelineFilterRequest", {"field": "sourceType", "value": "faq"}, True),
        ("PipelineFilterRequest", {"field": "dateFrom", "value": "2026-01-31T12:00:00Z"}, True),
        ("PipelineFilterRequest", {"field": "dateFrom", "value": ["2026-01-31T12:00:00Z"]}, False),
        ("PipelineFilterRequest", {"field": "sourceType", "value": "novel"}, False),
    ],
)
def test_variants_accept_what_the_serializer_accepts(name: str, value: dict[str, Any], is_valid: bool) -> None:
    components = json.loads(json.dumps(get_schema()["components"]))
    schema = {"$ref": f"#/components/schemas/{name}", "components": components}
    assert Draft202012Validator(schema).is_valid(value) == is_valid
