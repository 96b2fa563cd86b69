"""Shared code of this app's admin pages, which show, offer and delete only what their user may manage."""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Model, QuerySet
from django.http import HttpRequest

from accounts.models import User
from orgs.access.caller import get_caller
from orgs.access.permissions import Permission
from orgs.admin.bases.deletions import describe_deletions
from orgs.admin.bases.request_permissions import holds_permission, organizations_with_permission, remember
from orgs.admin.bases.scoped_admin import ScopedAdmin
from orgs.models import Membership, Organization, Role, Team
from rag.models import Action, DataSource
from ragsite.postgres.models import as_uuid


def managed_organizations(request: HttpRequest) -> QuerySet[Organization]:
    """Return the organisations in which this request's user may manage data sources."""
    return organizations_with_permission(request, Permission.SOURCES_MANAGE)


def visible_sources(request: HttpRequest, action: Action) -> QuerySet[DataSource]:
    """Return the data sources on which this request's user may perform the action."""
    return sources_with_any_action(request, action)


def sources_with_any_action(request: HttpRequest, *actions: Action) -> QuerySet[DataSource]:
    """Return the data sources on which this request's user may perform at least one of the actions.

    Managing in the admin needs the permission sources.manage: the forms offer more than an owner may change. A page
    that changes nothing asks for the sources many times, so the first result is kept.
    """
    if request.method == "GET":
        return remember(request, ("sources", actions), lambda: _find_sources_with_any(request, actions)).all()
    return _find_sources_with_any(request, actions)


def _find_sources_with_any(request: HttpRequest, actions: tuple[Action, ...]) -> QuerySet[DataSource]:
    caller, organizations = get_caller(request), managed_organizations(request).values("pk")
    return reduce(
        or_,
        (
            DataSource.objects.visible_to(caller, action).filter(organization__in=organizations)
            if action is Action.MANAGE
            else DataSource.objects.visible_to(caller, action)
            for action in actions
        ),
    )


def find_source(request: HttpRequest, source_id: object, action: Action) -> DataSource | None:
    """Return the data source with this id; None if it does not exist or the user may not perform the action on it."""
    key = as_uuid(str(source_id))
    sources = visible_sources(request, action).select_related("organization", "embedding_model")
    return sources.filter(pk=key).first() if key else None


def selectable_rows(request: HttpRequest, model: type[Model]) -> QuerySet[Model] | None:
    """Return the rows of a model that a form may offer to this request's user; None means all rows."""
    organizations = managed_organizations(request)
    if model is Organization:
        return organizations
    if model is DataSource:
        return visible_sources(request, Action.MANAGE).select_related("organization")
    if model in (Role, Team):
        return model._default_manager.filter(organization__in=organizations).select_related("organization")
    if model is User:
        return User.objects.filter(pk__in=Membership.objects.filter(organization__in=organizations).values("user"))
    return None


def field_names(fieldsets: Any) -> tuple[str, ...]:
    """Return the names of all fields of an admin page, in order."""
    return tuple(name for _, part in fieldsets for name in part["fields"])


class ReadOnlyMixin:
    """Forbids everybody to add or change rows on the admin pages of a model."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class CountedDeletionMixin:
    """Confirms a deletion with counts: collecting every related row could take millions of them."""

    def count_deletions(self, objects: Sequence[Any]) -> Mapping[str, int]:
        """Return kind of row → number of rows that are deleted together with these objects."""
        raise NotImplementedError

    def get_deleted_objects(
        self, objs: Iterable[Model], request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        counts = dict(self.count_deletions(list(objs)))
        return describe_deletions(counts), counts, set(), []


class SourceContentAdmin(ScopedAdmin):
    """The admin of data sources and of models with a `source`, for users who may manage the source."""

    def visible_rows(self, request: HttpRequest) -> QuerySet[Model]:
        sources = visible_sources(request, Action.MANAGE)
        if self.model is DataSource:
            return sources
        rows: QuerySet[Model] = self.model.objects.filter(source__in=sources.values("pk"))
        return rows

    def is_allowed(self, request: HttpRequest) -> bool:
        return holds_permission(request, Permission.SOURCES_MANAGE)

    def selectable_rows(self, request: HttpRequest, model: type[Model]) -> QuerySet[Model] | None:
        return selectable_rows(request, model)
