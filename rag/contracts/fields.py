"""Serializer fields that take JSON's types at their word: no number for a string, no string for a number."""

import json
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from rag.models.documents import MAX_PATH_BYTES

MAX_TAGS = 50
MAX_METADATA_BYTES = 32 * 1024
# A question is embedded while the caller waits.
MAX_QUESTION_CHARACTERS = 8_000


class Text(serializers.CharField):
    """A string, kept as it is sent. NUL and lone surrogates are refused (DRF's validators): no database stores them."""

    def __init__(self, name: str, **options: Any) -> None:
        """name: the field as the client spells it, for the messages of the contract (`source is required`)."""
        self.label_in_messages = name
        messages = {
            "required": f"{name} is required",
            "null": f"{name} must be a string",
            "blank": f"{name} must not be empty",
            "invalid": f"{name} must be a string",
        }
        super().__init__(**{"trim_whitespace": False, "error_messages": messages, **options})

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(data))

    def run_validation(self, data: Any = serializers.empty) -> Any:
        if isinstance(data, str) and not self.allow_blank and not data.strip():
            self.fail("blank")
        return super().run_validation(data)


class Path(Text):
    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)

    def to_internal_value(self, data: Any) -> str:
        path = super().to_internal_value(data)
        if len(path.encode(errors="replace")) > MAX_PATH_BYTES:
            raise ValidationError(f"{self.label_in_messages} must have at most {MAX_PATH_BYTES:,} bytes")
        return path


class Integer(serializers.IntegerField):
    def __init__(self, name: str, **options: Any) -> None:
        lowest, highest = options.get("min_value"), options.get("max_value")
        wrong = f"{name} must be an integer from {lowest} to {highest}"
        names = ("invalid", "null", "min_value", "max_value", "max_string_length")
        super().__init__(error_messages=dict.fromkeys(names, wrong), **options)

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid")
        return int(super().to_internal_value(data))


class Number(serializers.FloatField):
    def __init__(self, name: str, **options: Any) -> None:
        wrong = f"{name} must be a number from {options.get('min_value')} to {options.get('max_value')}"
        names = ("invalid", "null", "min_value", "max_value", "max_string_length", "overflow")
        super().__init__(error_messages=dict.fromkeys(names, wrong), **options)

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        return float(super().to_internal_value(data))


class Boolean(serializers.BooleanField):
    def __init__(self, name: str, **options: Any) -> None:
        wrong = f"{name} must be true or false"
        super().__init__(error_messages={"invalid": wrong, "null": wrong}, **options)

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class Tags(serializers.ListField):
    def __init__(self, name: str, **options: Any) -> None:
        wrong = f"{name} must be an array of strings"
        super().__init__(
            child=Text(name, max_length=200),
            max_length=MAX_TAGS,
            error_messages={
                "not_a_list": wrong,
                "null": wrong,
                "max_length": f"{name} may have at most {MAX_TAGS} entries",
            },
            **options,
        )

    def to_internal_value(self, data: Any) -> list[str]:
        try:
            return list(dict.fromkeys(super().to_internal_value(data)))
        except ValidationError as error:
            raise ValidationError(_first(error.detail)) from None


class Metadata(serializers.Field):
    """A JSON object that PostgreSQL can keep."""

    def __init__(self, name: str, **options: Any) -> None:
        wrong = f"{name} must be an object"
        super().__init__(error_messages={"null": wrong, "not_an_object": wrong}, **options)
        self.label_in_messages = name

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.fail("not_an_object")
        try:
            size = len(json.dumps(data, ensure_ascii=False, allow_nan=False).encode())
        except (ValueError, RecursionError):  # UnicodeEncodeError, a lone surrogate, is a ValueError
            raise ValidationError(
                f"{self.label_in_messages} holds something that is not valid Unicode or JSON"
            ) from None
        if size > MAX_METADATA_BYTES:
            raise ValidationError(f"{self.label_in_messages} must have at most {MAX_METADATA_BYTES:,} bytes as JSON")
        if "\\u0000" in json.dumps(data):
            raise ValidationError(f"{self.label_in_messages} must not hold NUL characters")
        return data

    def to_representation(self, value: Any) -> Any:
        return value


def _first(detail: Any) -> str:
    while isinstance(detail, dict | list):
        detail = next(iter(detail.values() if isinstance(detail, dict) else detail))
    return str(detail)
