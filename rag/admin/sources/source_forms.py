"""The form of a data source."""

import re
from typing import Any

from django import forms
from django.utils.translation import gettext

from orgs.access.permissions import Visibility
from orgs.admin.bases.versioned_form import VersionedForm
from orgs.models import Organization
from rag.models import DataSource, EmbeddingModel
from rag.models.sources import DIRECTION_CONTROLS
from rag.services.sources.expected_version import version_of
from ragsite.postgres.models import as_uuid


class SourceForm(VersionedForm):
    class Meta:
        model = DataSource
        fields = (
            "organization",
            "name",
            "slug",
            "description",
            "visibility",
            "owner",
            "source_type",
            "embedding_model",
            "has_ocr",
        )

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        if self.instance._state.adding and "embedding_model" in self.fields:
            self.initial.setdefault("embedding_model", EmbeddingModel.objects.default().pk)

    def current_version(self) -> str:
        return version_of(self.instance)

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if re.search(DIRECTION_CONTROLS, name):
            raise forms.ValidationError(gettext("A name must not change the direction of writing."))
        return name

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if "slug" in self.changed_data and as_uuid(slug):  # requests read it as an id
            raise forms.ValidationError(gettext("A slug must not be a UUID. Choose another one."))
        return slug

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        owner, organization = values.get("owner"), values.get("organization") or _organization(self.instance)
        same_slug = DataSource.objects.filter(organization=organization, slug=values.get("slug"), deleted_at=None)
        if same_slug.exclude(pk=self.instance.pk).exists():  # forms do not check constraints with a condition
            self.add_error(
                "slug", gettext("The organisation already has a data source with this slug. Choose another one.")
            )
        if values.get("visibility") == Visibility.PERSONAL and owner is None:
            self.add_error("owner", gettext("A personal data source needs an owner: only its owner may query it."))
        if owner and organization and not owner.memberships.filter(organization=organization).exists():
            self.add_error(
                "owner",
                gettext("{owner} is not a member of {organization}.").format(owner=owner, organization=organization),
            )
        return values


def _organization(source: DataSource) -> Organization | None:
    return source.organization if source.organization_id else None
