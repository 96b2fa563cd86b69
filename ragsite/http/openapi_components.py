"""Components of the OpenAPI document that generators of typed clients understand.

They read JSON Schema literally: `{"oneOf": [{"required": ["text"]}, …]}` beside the properties becomes an unknown type,
a field with a `default` counts as always present, and a stream that is declared as an object is parsed as one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from drf_spectacular.plumbing import ResolvedComponent

from .openapi_types import schema_of

_NULLABLE_ANYTHING = {"oneOf": [{}, {"type": "null"}]}


@dataclass(frozen=True, slots=True)
class EventStream:
    """A response with server-sent events, as the body of @extend_schema.

    Attributes:
        name: The name of its component without `Event`.
        events: The type of the data of each event, by the event's name; under an empty name that of events without one.
        end: What the stream ends with if it is no event.
    """

    name: str
    events: Mapping[str, Any]
    end: str = ""

    def schema(self, error_body: Any, registry: Any) -> dict[str, Any]:
        """Build the schema: a text, whose `x-item-schema` is an event with its data read from JSON.

        OpenAPI 3.2 says this with `itemSchema`; 3.1 has no keyword for it.
        """
        events = [
            _event(self.name, event, schema_of(data or error_body, registry), registry)
            for event, data in self.events.items()
        ]
        item = _component(f"{self.name}Event", {"anyOf": events}, registry) if len(events) > 1 else events[0]
        return {
            "type": "string",
            "description": f"Server-sent events. `x-item-schema` is an event; its `data` is sent as JSON.{self.end}",
            "x-item-schema": item,
        }


def _event(name: str, event: str, data: dict[str, Any], registry: Any) -> dict[str, Any]:
    if not event:
        return data
    properties = {"event": {"type": "string", "const": event}, "data": data}
    schema = {"type": "object", "properties": properties, "required": ["data", "event"]}
    return _component(f"{name}{event.capitalize()}Event", schema, registry)


def apply_rules(schema: dict[str, Any], rules: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with a serializer's rules: JSON Schema keywords for it and for its properties."""
    keywords = {name: rule for name, rule in rules.items() if name != "properties"}
    properties = dict(schema.get("properties", {}))
    for name, more in rules.get("properties", {}).items():
        known = {} if properties[name] == _NULLABLE_ANYTHING else properties[name]
        properties[name] = {**known, **more}
    return {**schema, **({"properties": properties} if properties else {}), **keywords}


def without_defaults(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a request with its defaults as sentences, so that the fields stay optional in TypeScript."""
    return {**schema, "properties": {name: _described(item) for name, item in schema["properties"].items()}}


def _described(schema: dict[str, Any]) -> dict[str, Any]:
    if "default" not in schema:
        return schema
    default = schema["default"]
    value = str(default).lower() if isinstance(default, bool) else default
    described = {name: value for name, value in schema.items() if name != "default"}
    return {**described, "description": " ".join(filter(None, (schema.get("description"), f"Default: `{value}`.")))}


def split_variants(
    schema: dict[str, Any], variants: Mapping[str, Mapping[str, Any]], prefix: str, registry: Any
) -> dict[str, Any]:
    """Return a schema as one of several complete components, which have a name each.

    Args:
        schema: The schema with the properties of all variants.
        variants: By name, the rules of each; `properties` with a value of None are not part of it, and `required` is
            added to what is always required.
        prefix: The beginning of the components' names.
        registry: drf-spectacular's registry of components.
    """
    references = []
    for name, rules in variants.items():
        removed = {field for field, rule in rules.get("properties", {}).items() if rule is None}
        changed = {field: rule for field, rule in rules.get("properties", {}).items() if rule is not None}
        kept = {field: item for field, item in schema["properties"].items() if field not in removed}
        required = sorted({*schema.get("required", ()), *rules.get("required", ())})
        keywords = {keyword: rule for keyword, rule in rules.items() if keyword not in ("properties", "required")}
        variant = apply_rules({"type": "object", "properties": kept}, {"properties": changed, **keywords})
        variant |= {"required": required} if required else {}
        references.append(_component(f"{prefix}{name}Request", variant, registry))
    return {"oneOf": references, **({"description": schema["description"]} if "description" in schema else {})}


def _component(name: str, schema: dict[str, Any], registry: Any) -> dict[str, Any]:
    component = ResolvedComponent(name=name, type=ResolvedComponent.SCHEMA, schema=schema, object=name)
    registry.register_on_missing(component)
    return dict(component.ref)
