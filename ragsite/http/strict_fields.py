"""Serializer fields with strict JSON types: a number is not accepted as a string, nor a string as a number."""

import datetime
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, TypedDict, Unpack

from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.validators import ProhibitSurrogateCharactersValidator

# What a serializer has validated. Its fields say which type each value has.
ValidatedFields: TypeAlias = dict[str, Any]
# After so many wrong entries the rest of a list is not validated.
_MAX_WRONG_ENTRIES = 20
# A field of any type, such as an entry of a list.
AnyField: TypeAlias = "serializers.Field[Any, Any, Any, Any]"


class FieldOptions(TypedDict, total=False):
    """Options of every field. The defaults are DRF's."""

    required: bool
    allow_null: bool
    write_only: bool


class TextOptions(FieldOptions, total=False):
    default: str | None
    allow_blank: bool


class BoundedTextOptions(TextOptions, total=False):
    max_length: int


class IntegerOptions(FieldOptions, total=False):
    default: int | None
    min_value: int
    max_value: int


class NumberOptions(FieldOptions, total=False):
    default: float | None
    min_value: float
    max_value: float


class BooleanOptions(FieldOptions, total=False):
    default: bool | None


class ListOptions(FieldOptions, total=False):
    default: list[object] | None


class _ProhibitSurrogates(ProhibitSurrogateCharactersValidator):
    """DRF's validator, called only for texts with a surrogate: it looks at each character, 0.8 seconds for 30 MB."""

    def __call__(self, value: object) -> None:
        try:
            str(value).encode()
        except UnicodeEncodeError:
            super().__call__(value)


class Text(serializers.CharField):
    """A string, kept exactly as sent.

    NUL and lone surrogates are refused by DRF's validators, because PostgreSQL cannot store them.
    """

    def __init__(
        self, name: str, *, messages: Mapping[str, str] | None = None, **options: Unpack[BoundedTextOptions]
    ) -> None:
        """Create the field.

        Args:
            name: The field as the client spells it, for the contract's messages (`source is required`).
            messages: Texts of errors instead of the usual ones, by DRF's code.
            options: Further options of `CharField`.
        """
        self.label_in_messages = name
        default_messages = {
            "required": f"{name} is required",
            "null": f"{name} must be a string",
            "blank": f"{name} must not be empty",
            "invalid": f"{name} must be a string",
            "max_length": f"{name} must have at most {{max_length:,}} characters",
        }
        super().__init__(trim_whitespace=False, error_messages={**default_messages, **(messages or {})}, **options)
        self.validators = [
            _ProhibitSurrogates() if isinstance(validator, ProhibitSurrogateCharactersValidator) else validator
            for validator in self.validators
        ]

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(data))

    def run_validation(self, data: object = serializers.empty) -> Any:
        if isinstance(data, str) and not self.allow_blank and not data.strip():
            self.fail("blank")
        return super().run_validation(data)


class Choice(Text):
    """One of a few words. The error message lists them and does not repeat the value that was sent."""

    def __init__(self, name: str, *, choices: Iterable[str], **options: Unpack[BoundedTextOptions]) -> None:
        self.choices = list(choices)
        super().__init__(name, **options)

    def to_internal_value(self, data: object) -> str:
        value = super().to_internal_value(data)
        if value not in self.choices:
            raise ValidationError(f"{self.label_in_messages} must be one of {', '.join(self.choices)}")
        return value


class Integer(serializers.IntegerField):
    """An integer between `min_value` and `max_value`. 5.0 is accepted as 5, because JSON has one type of number."""

    def __init__(self, name: str, **options: Unpack[IntegerOptions]) -> None:
        lowest, highest = options.get("min_value"), options.get("max_value")
        wrong = f"{name} must be an integer from {lowest} to {highest}"
        names = ("invalid", "null", "min_value", "max_value", "max_string_length")
        super().__init__(error_messages=dict.fromkeys(names, wrong), **options)

    def to_internal_value(self, data: object) -> int:
        if isinstance(data, float) and data.is_integer():
            data = int(data)
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid")
        return int(super().to_internal_value(data))


class Number(serializers.FloatField):
    """A number between `min_value` and `max_value`."""

    def __init__(self, name: str, **options: Unpack[NumberOptions]) -> None:
        wrong = f"{name} must be a number from {options.get('min_value')} to {options.get('max_value')}"
        names = ("invalid", "null", "min_value", "max_value", "max_string_length", "overflow")
        super().__init__(error_messages=dict.fromkeys(names, wrong), **options)

    def to_internal_value(self, data: object) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        return float(super().to_internal_value(data))


class Boolean(serializers.BooleanField):
    """True or false. Strings such as "true" are refused."""

    def __init__(self, name: str, **options: Unpack[BooleanOptions]) -> None:
        wrong = f"{name} must be true or false"
        super().__init__(error_messages={"invalid": wrong, "null": wrong}, **options)

    def to_internal_value(self, data: object) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class Id(serializers.UUIDField):
    """A UUID, sent as a string."""

    def __init__(self, name: str, **options: Unpack[FieldOptions]) -> None:
        super().__init__(error_messages=dict.fromkeys(("invalid", "null"), f"{name} must be a UUID"), **options)

    def to_internal_value(self, data: object) -> uuid.UUID:
        if not isinstance(data, str):
            self.fail("invalid")
        value: uuid.UUID = super().to_internal_value(data)
        return value


class Timestamp(serializers.DateTimeField):
    """A time in ISO 8601. A time without an offset is read as UTC."""

    def __init__(self, name: str, **options: Unpack[FieldOptions]) -> None:
        self.label_in_messages = name
        wrong = f"{name} must be a time, as 2025-01-31T00:00:00Z"
        super().__init__(
            error_messages=dict.fromkeys(("invalid", "null", "overflow", "date", "make_aware"), wrong), **options
        )

    def to_internal_value(self, value: object) -> datetime.datetime:
        if not isinstance(value, str) or "\0" in value:  # Python 3.11 ignores a NUL at the end
            self.fail("invalid", format="")
        return super().to_internal_value(value)


class BoundedList(serializers.ListField):
    """A list of bounded length.

    The length is checked before the entries. A few wrong entries end the validation: no response lists more.
    """

    def __init__(
        self,
        name: str,
        *,
        child: "AnyField",
        max_entries: int,
        min_entries: int = 0,
        **options: Unpack[ListOptions],
    ) -> None:
        self.label_in_messages, self.min_entries, self._max_entries = name, min_entries, max_entries
        wrong = f"{name} must be an array"
        messages = {"required": f"{name} is required", "not_a_list": wrong, "null": wrong}
        super().__init__(child=child, error_messages={**messages}, **options)

    @property
    def max_entries(self) -> int:
        return self._max_entries

    def to_internal_value(self, data: object) -> list[Any]:
        if not isinstance(data, list):
            self.fail("not_a_list", input_type=type(data).__name__)
        if not self.min_entries <= len(data) <= self.max_entries:
            raise ValidationError(
                f"{self.label_in_messages} must have from {self.min_entries} to {self.max_entries:,} entries"
            )
        values: list[Any] = []
        wrong: dict[Any, Any] = {}
        for index, item in enumerate(data):
            try:
                values.append(self.child.run_validation(item))
            except ValidationError as error:
                wrong[index] = error.detail
                if len(wrong) == _MAX_WRONG_ENTRIES:
                    break
        if wrong:
            raise ValidationError(wrong)
        return values
