"""Inserts rows of several tables in one statement."""

import functools
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection
from django.db.models import Model
from django.db.models.fields import AutoFieldMixin

from ragsite.postgres import identity

_encode = DjangoJSONEncoder().encode


def insert_rows(objects: Sequence[Model]) -> None:
    """Insert new objects, those of one model in a row, as the owner of the tables and without signals.

    The objects do not learn what the database makes of them: numbers, and generated values, which they read when used.
    """
    models, values = [], []
    for model, rows in groupby(objects, key=type):
        models.append(model)
        values.append(_encode([_values(row) for row in rows]))
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute(_statement(tuple(models)), values)
    for row in objects:
        row._state.adding, row._state.db = False, connection.alias


@functools.cache
def _statement(models: tuple[type[Model], ...]) -> str:
    """One insertion for each model. Foreign keys are checked at the end of the whole statement."""
    inserts = []
    for model in models:
        table, columns = model._meta.db_table, ", ".join(field.column for field in _fields(model))
        rows = f"json_populate_recordset(NULL::{table}, %s::json)"
        inserts.append(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {rows}")
    named = [f"part{number} AS ({insert})" for number, insert in enumerate(inserts)]
    return f"WITH {', '.join(named)} SELECT"


def _values(row: Any) -> dict[str, Any]:
    """Column → value, as it is stored."""
    fields = _fields(row._meta.model)
    return {field.column: field.get_db_prep_save(field.pre_save(row, add=True), connection) for field in fields}


@functools.cache
def _fields(model: type[Model]) -> list[Any]:
    """The fields that have a value before the row is inserted: all but numbers and values that the database makes."""
    fields = model._meta.concrete_fields
    return [field for field in fields if not isinstance(field, AutoFieldMixin) and not field.generated]
