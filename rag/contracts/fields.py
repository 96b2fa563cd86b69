"""Serializer fields that take JSON's types at their word: no number for a string, no string for a number."""

import json
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from rag.models.documents import MAX_PATH_BYTES

MAX_TAGS = 50
MAX_METADATA_BYTES = 32 * 1024
MAX_METADATA_DEPTH = 20
# A question is embedded while the caller waits.
MAX_QUESTION_CHARACTERS = 2_000


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


class Choice(Text):
    """One of a few words. The message names them, and does not repeat what was sent."""

    def __init__(self, name: str, *, among: Iterable[str], **options: Any) -> None:
        self._among = list(among)
        super().__init__(name, **options)

    def to_internal_value(self, data: Any) -> str:
        value = super().to_internal_value(data)
        if value not in self._among:
            raise ValidationError(f"{self.label_in_messages} must be one of {', '.join(self._among)}")
        return value


class Link(Text):
    """An http or https address: what clients show as a link must not be a script."""

    def to_internal_value(self, data: Any) -> str:
        value = super().to_internal_value(data)
        if not value.startswith(("https://", "http://")):
            raise ValidationError(f"{self.label_in_messages} must begin with https:// or http://")
        return value


class Anything(serializers.Field):
    """Kept as it is, for a closer look."""

    def to_internal_value(self, data: Any) -> Any:
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class Integer(serializers.IntegerField):
    def __init__(self, name: str, **options: Any) -> None:
        lowest, highest = options.get("min_value"), options.get("max_value")
        wrong = f"{name} must be an integer from {lowest} to {highest}"
        names = ("invalid", "null", "min_value", "max_value", "max_string_length")
        super().__init__(error_messages=dict.fromkeys(names, wrong), **options)

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, float) and data.is_integer():  # JSON has one kind of number: 5.0 is 5
            data = int(data)
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


class BoundedList(serializers.ListField):
    """A list whose length is looked at before its entries, which are looked at up to the first wrong one."""

    def __init__(self, name: str, *, child: Any, at_least: int = 0, at_most: int | None = None, **options: Any) -> None:
        """at_most: RAG_MAX_DOCUMENTS_PER_JOB unless given."""
        self._name, self._at_least, self._at_most = name, at_least, at_most
        wrong = f"{name} must be an array"
        super().__init__(child=child, error_messages={"not_a_list": wrong, "null": wrong}, **options)

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            self.fail("not_a_list", input_type=type(data).__name__)
        most = settings.RAG_MAX_DOCUMENTS_PER_JOB if self._at_most is None else self._at_most
        if not self._at_least <= len(data) <= most:
            raise ValidationError(f"{self._name} must have from {self._at_least} to {most:,} entries")
        values = []
        for index, each in enumerate(data):
            try:
                values.append(self.child.run_validation(each))
            except ValidationError as error:
                detail: Any = {index: error.detail}
                raise ValidationError(detail) from None
        return values


class Tags(BoundedList):
    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, child=Text(name, max_length=200), at_most=MAX_TAGS, **options)
        self.error_messages["not_a_list"] = self.error_messages["null"] = f"{name} must be an array of strings"

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
        if problem := _unstorable(data):
            raise ValidationError(f"{self.label_in_messages} {problem}")
        try:
            size = len(json.dumps(data, ensure_ascii=False, allow_nan=False).encode())
        except ValueError:  # UnicodeEncodeError, a lone surrogate, is one
            problem = "holds something that is not valid Unicode or JSON"
            raise ValidationError(f"{self.label_in_messages} {problem}") from None
        if size > MAX_METADATA_BYTES:
            raise ValidationError(f"{self.label_in_messages} must have at most {MAX_METADATA_BYTES:,} bytes as JSON")
        return data

    def to_representation(self, value: Any) -> Any:
        return value


def _unstorable(value: Any, depth: int = 0) -> str:
    if depth > MAX_METADATA_DEPTH:
        return f"must not be nested deeper than {MAX_METADATA_DEPTH} levels"
    if isinstance(value, str):
        return "must not hold NUL characters" if "\x00" in value else ""
    parts: list[Any] = []
    if isinstance(value, dict):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, list):
        parts = value
    return next((problem for part in parts if (problem := _unstorable(part, depth + 1))), "")


def _first(detail: Any) -> str:
    while isinstance(detail, dict | list):
        detail = next(iter(detail.values() if isinstance(detail, dict) else detail))
    return str(detail)
