"""The pipeline contract's fields of data sources (docs/contracts/pipeline.md)."""

import datetime
import re
from typing import Annotated, NotRequired, TypedDict

from rest_framework import serializers

from accounts.models import MAX_EMAIL_CHARACTERS
from orgs.access.permissions import Visibility
from rag.contracts.common import fields
from rag.models import DataSource, SourceType
from rag.models.grants import MAX_GRANTS_PER_KIND
from rag.models.sources import DIRECTION_CONTROLS, MAX_SOURCE_NAME_CHARACTERS
from rag.services.sources.editing import SourceSettings
from rag.services.sources.grants_by_name import GrantsByName
from ragsite.http.openapi.field_types import Count, Id
from ragsite.http.strict_fields import ValidatedFields
from ragsite.postgres.models import as_uuid


class Names(fields.BoundedList):
    def __init__(self, name: str) -> None:
        super().__init__(
            name,
            child=fields.Text(name, max_length=MAX_EMAIL_CHARACTERS),
            max_entries=MAX_GRANTS_PER_KIND,
            required=False,
        )


class _SettingsIn(serializers.Serializer[None]):
    """The fields that a new source and a change have in common."""

    name = fields.Text("name", max_length=MAX_SOURCE_NAME_CHARACTERS, required=False)
    slug = fields.Slug("slug", required=False)
    description = fields.Text("description", max_length=2000, required=False, allow_blank=True)
    visibility = fields.Choice("visibility", choices=Visibility.values, required=False)
    sourceType = fields.Choice("sourceType", choices=SourceType.values, required=False)
    embeddingModel = fields.Text("embeddingModel", max_length=100, required=False)
    ocr = fields.Boolean("ocr", required=False)
    roles = Names("roles")
    teams = Names("teams")
    users = Names("users")

    def validate_name(self, name: str) -> str:
        if re.search(DIRECTION_CONTROLS, name):
            raise serializers.ValidationError("name must not change the direction of writing")
        return name

    def validate_slug(self, slug: str) -> str:
        if as_uuid(slug):
            raise serializers.ValidationError("slug must not be a UUID: ids are")
        return slug


class SourceChangeIn(_SettingsIn):
    """The fields of a change. A field that is not sent keeps its value. `owner`: e-mail of an active member."""

    owner = fields.Text("owner", max_length=MAX_EMAIL_CHARACTERS, required=False)


class SourceIn(_SettingsIn):
    """A new data source. Default slug: made from the name. Default visibility: the organisation's."""

    name = fields.Text("name", max_length=MAX_SOURCE_NAME_CHARACTERS)


def build_source_settings(values: ValidatedFields) -> SourceSettings:
    lists = {kind: tuple(values[kind]) for kind in ("roles", "teams", "users") if kind in values}
    return SourceSettings(
        name=values.get("name"),
        slug=values.get("slug"),
        description=values.get("description"),
        visibility=values.get("visibility"),
        source_type=values.get("sourceType"),
        embedding_model=values.get("embeddingModel"),
        has_ocr=values.get("ocr"),
        owner_email=values.get("owner"),
        access=GrantsByName(**lists),
    )


class SourceListIn(serializers.Serializer[None]):
    """The query parameters of the list."""

    search = fields.Text("search", max_length=200, required=False)
    visibility = fields.Choice("visibility", choices=Visibility.values, required=False)
    sourceType = fields.Choice("sourceType", choices=SourceType.values, required=False)
    organization = fields.Reference("organization", required=False)


class SourceOut(TypedDict):
    """`roles`, `teams` and `users` (e-mail addresses): who may query the data source. `owner`: e-mail address, or null.
    These four only for callers who may manage it."""

    id: Id
    slug: str
    name: str
    description: str
    organization: str
    visibility: Annotated[str, {"enum": Visibility.values}]
    sourceType: Annotated[str, {"enum": SourceType.values}]
    embeddingModel: str
    ocr: bool
    createdAt: datetime.datetime
    updatedAt: datetime.datetime
    roles: NotRequired[list[str]]
    teams: NotRequired[list[str]]
    users: NotRequired[list[str]]
    owner: NotRequired[str | None]


class SourceListOut(TypedDict):
    sources: list[SourceOut]
    page: Count
    pageSize: Count
    total: Count


def source_out(source: DataSource, grants: GrantsByName | None) -> SourceOut:
    """Render a data source. `grants` is None if the caller may not manage the source."""
    body: SourceOut = {
        "id": str(source.pk),
        "slug": source.slug,
        "name": source.name,
        "description": source.description,
        "organization": source.organization.slug,
        "visibility": source.visibility,
        "sourceType": source.source_type,
        "embeddingModel": source.embedding_model.name,
        "ocr": source.has_ocr,
        "createdAt": source.created_at,
        "updatedAt": source.updated_at,
    }
    if grants is not None:
        body["roles"] = list(grants.roles or ())
        body["teams"] = list(grants.teams or ())
        body["users"] = list(grants.users or ())
        body["owner"] = source.owner.email if source.owner else None
    return body
