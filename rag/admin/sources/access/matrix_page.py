"""The page "Who can query what": people and data sources of an organisation, with the reasons."""

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from accounts.models import MAX_EMAIL_CHARACTERS
from orgs.models import Membership, Team
from rag.admin.base import managed_organizations, visible_sources
from rag.models import Action, DataSource
from rag.services.access import access_matrix
from ragsite.postgres.models import as_uuid

_MAX_CHOICES = 200


@require_safe
def show_matrix(request: HttpRequest) -> HttpResponse:
    """Show the matrix of one organisation that this request's user manages, and the preview of a change."""
    organizations = list(managed_organizations(request).order_by("name")[:_MAX_CHOICES])
    if not organizations:
        raise PermissionDenied
    organization_id = as_uuid(request.GET.get("organization", ""))
    organization = next((entry for entry in organizations if entry.pk == organization_id), organizations[0])
    sources = visible_sources(request, Action.MANAGE)
    search, source_search = (
        request.GET.get(name, "")[:MAX_EMAIL_CHARACTERS].replace("\0", "").strip() for name in ("q", "name")
    )
    members = Membership.objects.filter(organization=organization).select_related("user").order_by("user__email")
    teams = Team.objects.filter(organization=organization).order_by("name")
    person_id, team_id = (as_uuid(request.GET.get(name, "")) for name in ("person", "team"))
    person = members.filter(pk=person_id).first() if person_id else None
    team = teams.filter(pk=team_id).first() if team_id else None
    context = {
        **admin.site.each_context(request),
        "title": gettext("Who can query what"),
        "opts": DataSource._meta,
        "organization": organization,
        "organizations": organizations,
        "search": search,
        "source_search": source_search,
        "matrix": access_matrix.build_matrix(sources, organization, search=search, source_search=source_search),
        "members": members[:_MAX_CHOICES],
        "teams": teams[:_MAX_CHOICES],
        "person": person,
        "team": team,
        "opened": access_matrix.preview_team(sources, person.user, team) if person and team else None,
    }
    return TemplateResponse(request, "admin/rag/datasource/matrix.html", context)
