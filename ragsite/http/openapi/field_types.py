"""JSON Schema of the types of response bodies (see ragsite.http.openapi)."""

import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, Required, TypeVar, Union, get_args, get_origin, get_type_hints
from typing import is_typeddict as is_typeddict

from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent, resolve_type_hint

from ragsite.http.bodies.json_types import JsonObject

Body = TypeVar("Body", bound=type)

# For TypedDicts: `documentId: Id`, `score: Share`.
Id = Annotated[str, {"format": "uuid"}]
Share = Annotated[float, {"minimum": 0, "maximum": 1}]
Count = Annotated[int, {"minimum": 0}]

# The TypedDicts that may have more fields than they declare.
_with_additional_fields: set[type] = set()


def allow_additional_fields(body: Body) -> Body:
    """Class decorator: the TypedDict may have more fields than it declares."""
    _with_additional_fields.add(body)
    return body


def is_described(hint: object) -> bool:
    """Return whether the type is a TypedDict, or a union or list of TypedDicts."""
    return is_typeddict(hint) or any(is_described(argument) for argument in get_args(hint))


def contract_name(cls: type) -> str:
    """Return the `OPENAPI_NAME` of the nearest package that has one, such as `search_service`; empty if none does."""
    for base in cls.__mro__:
        package = base.__module__
        while package:
            if name := getattr(sys.modules.get(package), "OPENAPI_NAME", ""):
                return str(name)
            package = package.rpartition(".")[0]
    return ""


def component_prefix(cls: type) -> str:
    """Return the prefix of a class's schema names: `V3`, `SearchService`. Two contracts may have equal class names."""
    return "".join(word.capitalize() for word in contract_name(cls).split("_"))


def schema_of(hint: object, registry: ComponentRegistry) -> JsonObject:
    """Build the JSON Schema of a type. TypedDicts become components; Annotated adds JSON Schema keywords."""
    origin, args = get_origin(hint), get_args(hint)
    if isinstance(hint, type) and is_typeddict(hint):
        return _register_typed_dict(hint, registry)
    if hint in (Any, object):
        return {}
    if hint is type(None):
        return {"type": "null"}
    if origin is Annotated:
        schema = schema_of(args[0], registry)
        for extra in args[1:]:
            schema |= extra if isinstance(extra, dict) else {}
        return schema
    if origin in (NotRequired, Required):
        return schema_of(args[0], registry)
    if origin in (list, Sequence, tuple):
        return {"type": "array", "items": schema_of(args[0], registry)}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": schema_of(args[1], registry)}
    if origin is Literal:
        are_texts = all(isinstance(value, str) for value in args)
        return {"enum": list(args)} | ({"type": "string"} if are_texts else {})
    if origin in (Union, types.UnionType):
        return _any_of([schema_of(member, registry) for member in args if member is not type(None)], type(None) in args)
    return dict(resolve_type_hint(hint))


def _any_of(choices: list[JsonObject], nullable: bool) -> JsonObject:
    if nullable:
        (only, *others) = choices
        if not others and isinstance(only.get("type"), str) and "enum" not in only:
            return {**only, "type": [only["type"], "null"]}
        choices = [*choices, {"type": "null"}]
    return {"anyOf": choices}


def _register_typed_dict(body: type, registry: ComponentRegistry) -> JsonObject:
    """Register a TypedDict as a component, unless it is one already, and return a reference to it (`$ref`)."""
    name = component_prefix(body) + body.__name__
    name = f"{name.removesuffix('Out')}Response" if name.endswith("Out") else name
    component = ResolvedComponent(name=name, type=ResolvedComponent.SCHEMA, schema={}, object=body)
    if component not in registry:
        registry.register(component)  # before its fields, which may refer to it
        component.schema = _typed_dict_schema(body, registry)
    return dict(component.ref)


def _typed_dict_schema(body: type, registry: ComponentRegistry) -> JsonObject:
    schema: JsonObject = {"type": "object"}
    if body.__doc__:
        schema["description"] = " ".join(body.__doc__.split())
    hints = get_type_hints(body, include_extras=True)
    schema["properties"] = {field: schema_of(hint, registry) for field, hint in hints.items()}
    if required := vars(body)["__required_keys__"]:
        schema["required"] = sorted(required)
    if body in _with_additional_fields:
        schema["additionalProperties"] = {}
    return schema


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
    events: Mapping[str, object]
    end: str = ""

    def schema(self, error_body: object, registry: ComponentRegistry) -> JsonObject:
        """Build the schema: a text, whose `x-item-schema` is an event with its data read from JSON.

        OpenAPI 3.2 says this with `itemSchema`; 3.1 has no keyword for it.
        """
        events = [
            _event(self.name, event, schema_of(data or error_body, registry), registry)
            for event, data in self.events.items()
        ]
        item = _register_component(f"{self.name}Event", {"anyOf": events}, registry) if len(events) > 1 else events[0]
        return {
            "type": "string",
            "description": f"Server-sent events. `x-item-schema` is an event; its `data` is sent as JSON.{self.end}",
            "x-item-schema": item,
        }


def _event(name: str, event: str, data: JsonObject, registry: ComponentRegistry) -> JsonObject:
    if not event:
        return data
    properties = {"event": {"type": "string", "const": event}, "data": data}
    schema = {"type": "object", "properties": properties, "required": ["data", "event"]}
    return _register_component(f"{name}{event.capitalize()}Event", schema, registry)


def apply_rules(schema: JsonObject, rules: JsonObject) -> JsonObject:
    """Return a schema with a serializer's rules: JSON Schema keywords for it and for its properties."""
    keywords = {name: rule for name, rule in rules.items() if name != "properties"}
    properties = dict(schema.get("properties", {}))
    for name, more in rules.get("properties", {}).items():
        known = {} if properties[name] == _NULLABLE_ANYTHING else properties[name]
        properties[name] = {**known, **more}
    return schema | ({"properties": properties} if properties else {}) | keywords


def without_defaults(schema: JsonObject) -> JsonObject:
    """Return the schema of a request with its defaults as sentences, so that the fields stay optional in TypeScript."""
    return {**schema, "properties": {name: _described(item) for name, item in schema["properties"].items()}}


def _described(schema: JsonObject) -> JsonObject:
    """Return the schema with its default as a sentence of the description."""
    if "default" not in schema:
        return schema
    default = schema["default"]
    value = str(default).lower() if isinstance(default, bool) else default
    described = {name: value for name, value in schema.items() if name != "default"}
    return {**described, "description": " ".join(filter(None, (schema.get("description"), f"Default: `{value}`.")))}


def split_variants(
    schema: JsonObject, variants: Mapping[str, JsonObject], prefix: str, registry: ComponentRegistry
) -> JsonObject:
    """Register one complete component for each variant, and return a `oneOf` of them.

    Args:
        schema: The schema with the properties of all variants.
        variants: By name, the rules of each. A property whose rule is None is left out of the variant, and
            `required` is added to what is always required.
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
        references.append(_register_component(f"{prefix}{name}Request", variant, registry))
    description = {"description": schema["description"]} if "description" in schema else {}
    return {"oneOf": references} | description


def _register_component(name: str, schema: JsonObject, registry: ComponentRegistry) -> JsonObject:
    """Register a schema as a component, unless its name is taken, and return a reference to it (`$ref`)."""
    component = ResolvedComponent(name=name, type=ResolvedComponent.SCHEMA, schema=schema, object=name)
    registry.register_on_missing(component)
    return dict(component.ref)
