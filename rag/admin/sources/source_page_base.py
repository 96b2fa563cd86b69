"""Shared code of a data source's additional pages: who may open them, and their layout."""

import uuid

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from accounts.models import User
from rag.admin.base import find_source, managed_organizations
from rag.models import Action, DataSource

# How many people, roles or teams an input suggests. Others are accepted as well.
MAX_SUGGESTIONS = 200


def get_managed_source(request: HttpRequest, source_id: uuid.UUID) -> DataSource:
    """Return the data source, if this request's user manages it with the permission sources.manage.

    Owners without the permission manage their sources with the API.

    Raises:
        PermissionDenied: If the user has the permission sources.manage in no organisation.
        Http404: If there is no such source, or the user may not manage it.
    """
    if not managed_organizations(request).exists():
        raise PermissionDenied
    source = find_source(request, source_id, Action.MANAGE)
    if source is None:
        raise Http404
    return source


def render_page(request: HttpRequest, template: str, source: DataSource, title: str, **context: object) -> HttpResponse:
    context = {**admin.site.each_context(request), "title": title, "subtitle": str(source), "source": source, **context}
    return TemplateResponse(request, f"admin/rag/datasource/{template}.html", context)


def list_member_emails(source: DataSource) -> list[str]:
    """Return e-mail addresses of members of the source's organisation as suggestions for an input."""
    members = User.objects.filter(memberships__organization=source.organization_id).order_by("email")
    return list(members.values_list("email", flat=True)[:MAX_SUGGESTIONS])
