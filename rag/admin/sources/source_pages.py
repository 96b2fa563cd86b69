"""What the pages of one data source share, beside Django's own: who may open them, and how they look."""

import uuid
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from accounts.models import User
from orgs.access.caller import get_caller
from rag.admin.base import home_organizations
from rag.models import Action, DataSource


def managed(request: HttpRequest, source_id: uuid.UUID) -> DataSource:
    """The source, for those who manage it. Foreign ones do not exist; who manages nothing is refused."""
    if not home_organizations(request).exists():
        raise PermissionDenied
    sources = DataSource.objects.visible_to(get_caller(request), Action.MANAGE)
    source = sources.select_related("organization", "embedding_model").filter(pk=source_id).first()
    if source is None:
        raise Http404
    return source


def user_of(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def render(request: HttpRequest, template: str, source: DataSource, title: str, **context: Any) -> HttpResponse:
    shared = {**admin.site.each_context(request), "title": title, "subtitle": str(source), "source": source}
    return TemplateResponse(request, f"admin/rag/datasource/{template}.html", {**shared, **context})
