"""JSON Schema of the fields of rag.contracts.common.fields. Importing the module registers it with drf-spectacular."""

from collections.abc import Callable
from typing import Any

from django.core.validators import RegexValidator
from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema

from rag.models.content.documents import MAX_PATH_BYTES
from ragsite.http import strict_fields

from . import fields

# At least one character that is not white space, and no NUL. The white space of Python is listed, because `\s` differs
# between languages.
_WHITE_SPACE = r"\t-\r\u001c- \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
NON_BLANK_PATTERN = rf"^[^\u0000]*[^\u0000{_WHITE_SPACE}][^\u0000]*$"
_NO_NUL = r"^[^\u0000]*$"


def _text_schema(field: fields.Text) -> dict[str, object]:
    schema: dict[str, object] = {"type": "string", "pattern": _NO_NUL if field.allow_blank else NON_BLANK_PATTERN}
    if not field.allow_blank:
        schema["minLength"] = 1
    if field.max_length is not None:
        schema["maxLength"] = field.max_length
    for validator in field.validators:
        if isinstance(validator, RegexValidator):
            schema["pattern"] = (
                str(getattr(validator.regex, "pattern", validator.regex)).replace(r"\A", "^").replace(r"\Z", "$")
            )
    return schema


def _path_schema(field: fields.Path) -> dict[str, object]:
    return {
        **_text_schema(field),
        "maxLength": MAX_PATH_BYTES,
        "description": f"At most {MAX_PATH_BYTES:,} bytes as UTF-8.",
    }


def _choice_schema(field: fields.Choice) -> dict[str, object]:
    return {"type": "string", "enum": list(field.choices)}


def _link_schema(field: fields.Link) -> dict[str, object]:
    return {**_text_schema(field), "format": "uri", "pattern": r"^https?://[^\u0000]*$"}


def _anything_schema(field: fields.Anything) -> dict[str, object]:
    return {}


def _number_schema(json_type: str) -> Callable[[fields.Integer | fields.Number], dict[str, object]]:
    def build_schema(field: fields.Integer | fields.Number) -> dict[str, object]:
        bounds = {"minimum": field.min_value, "maximum": field.max_value}
        return {"type": json_type, **{name: bound for name, bound in bounds.items() if bound is not None}}

    return build_schema


def _metadata_schema(field: fields.Metadata) -> dict[str, object]:
    return {
        "type": "object",
        "additionalProperties": {},
        "description": f"At most {fields.MAX_METADATA_BYTES:,} bytes as JSON, {fields.MAX_METADATA_DEPTH} levels deep, "
        "without NUL characters.",
    }


_SCHEMA_BUILDERS: dict[type, Callable[[Any], dict[str, object]]] = {
    fields.Text: _text_schema,
    fields.Path: _path_schema,
    fields.Choice: _choice_schema,
    fields.Link: _link_schema,
    fields.Anything: _anything_schema,
    fields.Integer: _number_schema("integer"),
    fields.Number: _number_schema("number"),
    fields.Metadata: _metadata_schema,
}


def _register(cls: type, build_schema: Callable[[object], dict[str, object]]) -> None:
    class Extension(OpenApiSerializerFieldExtension):
        target_class = cls
        match_subclasses = True
        # A more specific class takes precedence.
        priority = len(cls.__mro__)

        def map_serializer_field(self, auto_schema: object, direction: object) -> dict[str, object]:
            return build_schema(self.target)


for _class, _build_schema in _SCHEMA_BUILDERS.items():
    _register(_class, _build_schema)


class ListSchema(OpenApiSerializerFieldExtension):
    target_class = strict_fields.BoundedList
    match_subclasses = True

    def map_serializer_field(self, auto_schema: AutoSchema, direction: object) -> dict[str, object]:
        field = self.target
        return {
            "type": "array",
            "items": auto_schema._map_serializer_field(field.child, direction),
            "minItems": field.min_entries,
            "maxItems": field.max_entries,
        }
