"""What the user of a request may do in the admin. A page that only shows something finds it out once."""

import uuid
from collections.abc import Callable
from typing import TypeVar

from django.db.models import QuerySet
from django.http import HttpRequest

from orgs.access import organization_resolver
from orgs.access.caller import get_caller
from orgs.access.effective_permissions import EffectivePermissions, effective_permissions
from orgs.access.permissions import Permission
from orgs.models import Organization

Answer = TypeVar("Answer")


def organizations_with_permission(request: HttpRequest, permission: Permission) -> QuerySet[Organization]:
    """Return the organisations in which the user of this request has the permission. A superuser has it in all."""
    if request.user.is_superuser or request.method != "GET":
        return organization_resolver.organizations_with_permission(request.user, permission)
    return Organization.objects.filter(pk__in=read_permissions(request).organizations_with(permission))


def read_permissions(request: HttpRequest) -> EffectivePermissions:
    """Return the permissions of this request's user. A page that only shows something reads them once."""
    caller = get_caller(request)
    if request.method != "GET":
        return effective_permissions(caller)
    return remember(request, "permissions", lambda: effective_permissions(caller))


def manageable_organizations(request: HttpRequest) -> QuerySet[Organization]:
    """Return the organisations whose members the user of this request may change."""
    return organizations_with_permission(request, Permission.MEMBERS_MANAGE)


def holds_permission(request: HttpRequest, permission: Permission) -> bool:
    """Return whether the user of this request has the permission in an organisation.

    The answer decides which pages are offered. The sidebar asks for each model, so the answer is remembered for the
    request.
    """
    if request.user.is_superuser or request.method != "GET":
        key = "any organization" if request.user.is_superuser else permission
        return remember(request, key, lambda: organizations_with_permission(request, permission).exists())
    return bool(read_permissions(request).organizations_with(permission))


def remember(request: HttpRequest, key: object, compute: Callable[[], Answer]) -> Answer:
    """Return what `compute` returns, called once for a key and a request: the sidebar asks everything often."""
    answers: dict[object, Answer] = request.__dict__.setdefault("_remembered_answers", {})
    if key not in answers:
        answers[key] = compute()
    return answers[key]


def only_organization(request: HttpRequest) -> uuid.UUID | None:
    """Return the id of the only organisation whose rows the user of this request sees; None if there are several."""

    def find() -> uuid.UUID | None:
        organizations = Organization.objects.filter(deleted_at=None).order_by("pk")
        if not request.user.is_superuser:
            organizations = organizations.filter(memberships__user=request.user.pk)
        keys = list(organizations.values_list("pk", flat=True)[:2])
        return keys[0] if len(keys) == 1 else None

    return remember(request, "only organization", find)
