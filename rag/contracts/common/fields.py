"""Serializer fields of the contracts: the strict fields of ragsite.http.strict_fields, and fields of documents."""

import json
from typing import Unpack

from django.conf import settings
from django.core.validators import RegexValidator
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from orgs.access.organization_resolver import MAX_REFERENCE_CHARACTERS
from rag.models.content.documents import MAX_PATH_BYTES
from rag.models.sources import MAX_SOURCE_SLUG_CHARACTERS, SLUG
from rag.types import MAX_QUESTION_CHARACTERS as MAX_QUESTION_CHARACTERS
from ragsite.http.strict_fields import AnyField, FieldOptions, ListOptions, TextOptions
from ragsite.http.strict_fields import Boolean as Boolean
from ragsite.http.strict_fields import BoundedList as BoundedList
from ragsite.http.strict_fields import Choice as Choice
from ragsite.http.strict_fields import Id as Id
from ragsite.http.strict_fields import Integer as Integer
from ragsite.http.strict_fields import Number as Number
from ragsite.http.strict_fields import Text as Text
from ragsite.http.strict_fields import Timestamp as Timestamp

MAX_TAGS = 50
MAX_METADATA_BYTES = 32 * 1024
MAX_METADATA_DEPTH = 20


class Path(Text):
    """A document's path, limited in bytes like the database index that contains it."""

    def to_internal_value(self, data: object) -> str:
        path = super().to_internal_value(data)
        if len(path.encode(errors="replace")) > MAX_PATH_BYTES:
            raise ValidationError(f"{self.label_in_messages} must have at most {MAX_PATH_BYTES:,} bytes")
        return path


class Slug(Text):
    """The slug of a data source (v3 contract, 2.1: `source`)."""

    def __init__(self, name: str, **options: Unpack[TextOptions]) -> None:
        super().__init__(name, max_length=MAX_SOURCE_SLUG_CHARACTERS, **options)
        self.validators.append(RegexValidator(rf"\A{SLUG}\Z", f"{name} must match ^{SLUG}$ (letters, digits, -, _)"))


class Reference(Text):
    """The slug or id of a data source or organisation, or the id of a document."""

    def __init__(self, name: str, **options: Unpack[TextOptions]) -> None:
        super().__init__(name, max_length=MAX_REFERENCE_CHARACTERS, **options)


class Link(Text):
    """An http or https address: clients show it as a link, so `javascript:` must not pass."""

    def to_internal_value(self, data: object) -> str:
        value = super().to_internal_value(data)
        if not value.startswith(("https://", "http://")):
            raise ValidationError(f"{self.label_in_messages} must begin with https:// or http://")
        return value


class Anything(serializers.Field):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Accepts any JSON value; the serializer validates it."""

    def to_internal_value(self, data: object) -> object:
        return data

    def to_representation(self, value: object) -> object:
        return value


class DocumentList(BoundedList):
    """The documents of a job, at least one and at most RAG_MAX_DOCUMENTS_PER_JOB."""

    def __init__(self, name: str, *, child: AnyField, **options: Unpack[ListOptions]) -> None:
        super().__init__(name, child=child, min_entries=1, max_entries=settings.RAG_MAX_DOCUMENTS_PER_JOB, **options)

    @property
    def max_entries(self) -> int:
        return int(settings.RAG_MAX_DOCUMENTS_PER_JOB)  # read each time: requests share their serializers


class Tags(BoundedList):
    def __init__(self, name: str, **options: Unpack[ListOptions]) -> None:
        super().__init__(name, child=Text(name, max_length=200), max_entries=MAX_TAGS, **options)
        message = f"{name} must be an array of strings"
        self.error_messages |= dict.fromkeys(("not_a_list", "null"), message)
        self.child.error_messages |= dict.fromkeys(("invalid", "null"), message)

    def to_internal_value(self, data: object) -> list[str]:
        try:
            return list(dict.fromkeys(super().to_internal_value(data)))
        except ValidationError as error:
            raise ValidationError(_first_message(error.detail)) from None


class Metadata(serializers.Field):  # type: ignore[type-arg]  # not subscriptable at runtime
    """A JSON object that PostgreSQL can store as jsonb."""

    def __init__(self, name: str, **options: Unpack[FieldOptions]) -> None:
        message = f"{name} must be an object"
        super().__init__(error_messages={"null": message, "not_an_object": message}, **options)
        self.label_in_messages = name

    def to_internal_value(self, data: object) -> dict[str, object]:
        if not isinstance(data, dict):
            self.fail("not_an_object")
        if problem := _unstorable(data):
            raise ValidationError(f"{self.label_in_messages} {problem}")
        try:
            compact = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            size = len(compact.encode())
        except ValueError:  # including UnicodeEncodeError for a lone surrogate
            problem = "contains a value that is not valid Unicode or JSON"
            raise ValidationError(f"{self.label_in_messages} {problem}") from None
        if size > MAX_METADATA_BYTES:
            raise ValidationError(f"{self.label_in_messages} must have at most {MAX_METADATA_BYTES:,} bytes as JSON")
        return data

    def to_representation(self, value: object) -> object:
        return value


def _unstorable(value: object, depth: int = 0) -> str:
    """Return why PostgreSQL cannot store the value as jsonb; empty if it can."""
    if depth > MAX_METADATA_DEPTH:
        return f"must not be nested deeper than {MAX_METADATA_DEPTH} levels"
    if isinstance(value, str):
        return "must not contain NUL characters" if "\x00" in value else ""
    parts: list[object] = []
    if isinstance(value, dict):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, list):
        parts = value
    return next((problem for part in parts if (problem := _unstorable(part, depth + 1))), "")


def _first_message(detail: object) -> str:
    while isinstance(detail, dict | list):
        detail = next(iter(detail.values() if isinstance(detail, dict) else detail))
    return str(detail)
