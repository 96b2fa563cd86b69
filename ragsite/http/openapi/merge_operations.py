"""Merges operations that share a path into one, which accepts and returns any of their bodies."""

from collections.abc import Sequence
from functools import reduce

from ragsite.http.bodies.json_types import JsonObject


def merge_operations(operations: Sequence[JsonObject]) -> JsonObject:
    """Return one operation with the bodies, parameters and responses of all of them."""
    merged = reduce(_merge_two, operations)
    return {**merged, "responses": dict(sorted(merged["responses"].items()))}


def _merge_two(existing: JsonObject, added: JsonObject) -> JsonObject:
    request_content = _merge_content(existing["requestBody"]["content"], added["requestBody"]["content"])
    merged = {
        **existing,
        "summary": f"{existing['summary']} / {added['summary']}",
        "description": f"{existing['description']} {added['description']}",
        "tags": list(dict.fromkeys([*existing["tags"], *added["tags"]])),
        "requestBody": {**existing["requestBody"], "content": request_content},
        "responses": {**existing["responses"]},
    }
    if parameters := _merge_parameters(existing.get("parameters", []), added.get("parameters", [])):
        merged["parameters"] = parameters
    for status, response in added["responses"].items():
        merged["responses"][status] = _merge_responses(existing["responses"].get(status, response), response)
    return merged


def _merge_parameters(existing: list[JsonObject], added: list[JsonObject]) -> list[JsonObject]:
    """Return the existing parameters, and those of the added ones that have another name or place."""
    known = {(parameter["name"], parameter["in"]) for parameter in existing}
    return [*existing, *(parameter for parameter in added if (parameter["name"], parameter["in"]) not in known)]


def _merge_responses(existing: JsonObject, added: JsonObject) -> JsonObject:
    """Return the existing response with the bodies of the added one, and its headers that have other names."""
    merged = {**existing, "content": _merge_content(existing.get("content", {}), added.get("content", {}))}
    if headers := {**added.get("headers", {}), **existing.get("headers", {})}:
        merged["headers"] = headers
    return merged


def _merge_content(existing: JsonObject, added: JsonObject) -> JsonObject:
    """Return the bodies of both, by media type."""
    merged = {**existing}
    for media_type, body in added.items():
        merged[media_type] = _merge_bodies(existing[media_type], body) if media_type in existing else body
    return merged


def _merge_bodies(existing: JsonObject, added: JsonObject) -> JsonObject:
    merged = {**existing, "schema": _merge_schemas(existing["schema"], added["schema"])}
    if examples := _merge_examples(existing.get("examples", {}), added.get("examples", {})):
        merged["examples"] = examples
    return merged


def _merge_schemas(existing: JsonObject, added: JsonObject) -> JsonObject:
    """Return a schema that the values of either match: an `anyOf`, unless the schemas are equal."""
    if existing == added:
        return existing
    choices = existing.get("anyOf", [existing])
    return existing if added in choices else {"anyOf": [*choices, added]}


def _merge_examples(existing: JsonObject, added: JsonObject) -> JsonObject:
    """Return the different examples of both. An added one whose name is taken gets a number."""
    merged = {**existing}
    for name, example in added.items():
        if example not in merged.values():
            merged[name if name not in merged else f"{name}{len(merged) + 1}"] = example
    return merged
