"""What every page of this app shares: it shows what its user may manage."""

from typing import Any

from django.db.models import Model, QuerySet
from django.http import HttpRequest

from accounts.models import User
from orgs.access.caller import get_caller
from orgs.access.permissions import Permission
from orgs.admin.scoped import ScopedAdmin, organizations_where
from orgs.models import Membership, Organization, Role, Team
from rag.models import Action, DataSource


def home_organizations(request: HttpRequest) -> QuerySet[Organization]:
    """Where this request's user may manage data sources."""
    return organizations_where(request, Permission.SOURCES_MANAGE)


class SourceContentAdmin(ScopedAdmin):
    """For what has a `source`, and for sources themselves."""

    def visible(self, request: HttpRequest) -> QuerySet[Any]:
        return self.model.objects.visible_to(get_caller(request), Action.MANAGE)

    def allowed(self, request: HttpRequest) -> bool:
        return home_organizations(request).exists()

    def choices(self, request: HttpRequest, model: type[Model]) -> QuerySet[Any] | None:
        return choices(request, model)


def choices(request: HttpRequest, model: type[Model]) -> QuerySet[Any] | None:
    organizations = home_organizations(request)
    if model is Organization:
        return organizations
    if model is DataSource:
        return DataSource.objects.visible_to(get_caller(request), Action.MANAGE)
    if model in (Role, Team):
        return model._default_manager.filter(organization__in=organizations).select_related("organization")
    if model is User:
        return User.objects.filter(pk__in=Membership.objects.filter(organization__in=organizations).values("user"))
    return None
