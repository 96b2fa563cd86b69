"""Fields for credentials, which no query reads unless the code asks for their value.

Most database roles may not read these columns (grants.sql). Queries select NULL in their place, even with
`select_related`, and the attribute reads the value when it is used.
"""

import contextlib
import hashlib
from collections.abc import Sequence

from django.db import models
from django.db.models.functions import Cast
from django.db.models.query_utils import DeferredAttribute

from . import identity
from .identity import Identity


def hash_secret(secret: str) -> str:
    """Return what is stored of a random credential, which is too long to guess: a fast hash suffices.

    Lone surrogates, which requests may have, are replaced.
    """
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


def load(rows: Sequence[models.Model], *names: str) -> None:
    """Set hidden fields of stored rows of one model, with one query under the current database identity.

    Rows that were deleted in the meantime are left as they are.
    """
    if not rows:
        return
    # `select_format` would select NULL. A cast is selected as a field of its own type, which does not have it.
    columns = [Cast(name, models.TextField()) for name in names]
    stored = type(rows[0])._base_manager.filter(pk__in={row.pk for row in rows})
    values = {pk: row_values for pk, *row_values in stored.values_list("pk", *columns)}
    for row in rows:
        if row.pk in values:
            row.__dict__.update(zip(names, values[row.pk], strict=True))


class _HiddenAttribute(DeferredAttribute):
    """Reads the column for this attribute alone."""

    def __get__(self, instance: models.Model | None, cls: type[models.Model] | None = None) -> object:
        field = self.field
        assert isinstance(field, _HiddenMixin)
        if instance is not None and field.attname not in instance.__dict__:
            with identity.run_as(field.read_as) if field.read_as else contextlib.nullcontext():
                load([instance], field.attname)
        return super().__get__(instance, cls)


class _HiddenMixin:
    descriptor_class: type[DeferredAttribute] = _HiddenAttribute
    django_name: str

    def __init__(self, *arguments: object, read_as: Identity | None = None, **options: object) -> None:
        """Define the field.

        Args:
            arguments: Those of Django's field.
            read_as: The database identity that reads the column; None for that of the reading code.
            options: Those of Django's field.
        """
        super().__init__(*arguments, **options)
        self.read_as = read_as

    def deconstruct(self) -> tuple[str, str, Sequence[object], dict[str, object]]:
        """Migrations see Django's field: the column is the same."""
        name, _, arguments, options = super().deconstruct()  # type: ignore[misc]
        return name, f"django.db.models.{self.django_name}", arguments, options

    def select_format(self, _compiler: object, _sql: str, _values: object) -> tuple[str, tuple[()]]:
        return "NULL", ()

    def from_db_value(self, *_: object) -> object:
        return models.DEFERRED


class HiddenCharField(_HiddenMixin, models.CharField):  # type: ignore[type-arg]  # not subscriptable at runtime
    django_name = "CharField"


class HiddenTextField(_HiddenMixin, models.TextField):  # type: ignore[type-arg]  # not subscriptable at runtime
    django_name = "TextField"
