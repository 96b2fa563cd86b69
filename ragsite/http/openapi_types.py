"""JSON Schema of the types of response bodies (see ragsite.http.openapi)."""

import sys
import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, Required, TypeVar, Union, get_args, get_origin, get_type_hints
from typing import is_typeddict as is_typeddict

from drf_spectacular.plumbing import ResolvedComponent, resolve_type_hint

Body = TypeVar("Body", bound=type)

# For TypedDicts: `documentId: Id`, `score: Share`.
Id = Annotated[str, {"format": "uuid"}]
Share = Annotated[float, {"minimum": 0, "maximum": 1}]
Count = Annotated[int, {"minimum": 0}]

_open: set[Any] = set()


def allow_additional_fields(body: Body) -> Body:
    """Class decorator: the TypedDict may have more fields than it declares."""
    _open.add(body)
    return body


def is_described(hint: Any) -> bool:
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


def schema_of(hint: Any, registry: Any) -> dict[str, Any]:
    """Build the JSON Schema of a type. TypedDicts become components; Annotated adds JSON Schema keywords."""
    origin, args = get_origin(hint), get_args(hint)
    if is_typeddict(hint):
        return _component(hint, registry)
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
        return {"enum": list(args), **({"type": "string"} if all(isinstance(value, str) for value in args) else {})}
    if origin in (Union, types.UnionType):
        return _any_of([schema_of(member, registry) for member in args if member is not type(None)], type(None) in args)
    return dict(resolve_type_hint(hint))


def _any_of(choices: list[dict[str, Any]], nullable: bool) -> dict[str, Any]:
    if nullable:
        (only, *others) = choices
        if not others and isinstance(only.get("type"), str) and "enum" not in only:
            return {**only, "type": [only["type"], "null"]}
        choices = [*choices, {"type": "null"}]
    return {"anyOf": choices}


def _component(body: Any, registry: Any) -> dict[str, Any]:
    name = component_prefix(body) + body.__name__
    name = f"{name[:-3]}Response" if name.endswith("Out") else name
    component = ResolvedComponent(name=name, type=ResolvedComponent.SCHEMA, schema={}, object=body)
    if component not in registry:
        registry.register(component)
        component.schema = {
            "type": "object",
            **({"description": " ".join(body.__doc__.split())} if body.__doc__ else {}),
            "properties": {
                field: schema_of(hint, registry) for field, hint in get_type_hints(body, include_extras=True).items()
            },
            **({"required": sorted(body.__required_keys__)} if body.__required_keys__ else {}),
            **({"additionalProperties": {}} if body in _open else {}),
        }
    return dict(component.ref)
