"""Reads an API key with everything that decides whether it is usable, in one statement with a constant text.

Every request with a key needs this. Building the same statement with the ORM takes longer than the database needs.
"""

import functools
import uuid
from collections.abc import Sequence
from typing import TypeVar

from django.db import connection
from django.db.models import Field, Model

from accounts.models import User
from orgs.models import ApiKey, Organization
from ragsite.postgres.base import read_rows

Row = TypeVar("Row", bound=Model)
_MODELS: tuple[type[Model], ...] = (ApiKey, User, Organization)
# Secrets that no request may read.
_UNREAD = {"hash", "password"}
_STATEMENT = (
    "SELECT {columns}, EXISTS (SELECT FROM orgs_membership AS membership "
    "WHERE membership.user_id = orgs_apikey.user_id AND membership.organization_id = orgs_apikey.organization_id "
    "AND membership.is_active) FROM orgs_apikey JOIN accounts_user ON accounts_user.id = orgs_apikey.user_id "
    "JOIN orgs_organization ON orgs_organization.id = orgs_apikey.organization_id WHERE orgs_apikey.id = %s"
)


def read_with_refusal_facts(key_id: uuid.UUID) -> ApiKey | None:
    """Return the key with its user and organisation, as `ApiKeyQuerySet.with_refusal_facts` reads it.

    The secrets of the key and of the user are not read. None if the transaction's identity may not read the key.
    """
    rows = read_rows(_statement(), [key_id])
    if not rows:
        return None
    *columns, is_member = rows[0]
    values = dict(_split(columns))
    key = _instance(ApiKey, values[ApiKey])
    key.user, key.organization = _instance(User, values[User]), _instance(Organization, values[Organization])
    key.is_member = is_member
    return key


@functools.cache
def _statement() -> str:
    columns = [f'"{model._meta.db_table}"."{field.column}"' for model in _MODELS for field in _fields(model)]
    return _STATEMENT.format(columns=", ".join(columns))


@functools.cache
def _fields(model: type[Model]) -> "Sequence[Field[object, object]]":
    return [field for field in model._meta.concrete_fields if field.attname not in _UNREAD]


def _split(values: Sequence[object]) -> list[tuple[type[Model], Sequence[object]]]:
    """Return each model of _MODELS with its values in the row."""
    parts: list[tuple[type[Model], Sequence[object]]] = []
    start = 0
    for model in _MODELS:
        end = start + len(_fields(model))
        parts.append((model, values[start:end]))
        start = end
    return parts


def _instance(model: type[Row], values: Sequence[object]) -> Row:
    converted = []
    for field, value in zip(_fields(model), values, strict=True):
        for convert in field.get_db_converters(connection):
            value = convert(value, None, connection)
        converted.append(value)
    return model.from_db(connection.alias, [field.attname for field in _fields(model)], converted)
