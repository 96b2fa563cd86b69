"""The page that changes one cell of the access matrix: it says what would change, for whom, and asks."""

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from accounts.models import User
from orgs.access.caller import Caller
from orgs.admin.bases.request_permissions import manageable_organizations
from orgs.models import Membership
from rag.admin.base import find_source
from rag.errors import InvalidRequest
from rag.models import Action, DataSource
from rag.services.access import grant_changes
from ragsite.postgres.models import as_uuid


@require_http_methods(["GET", "HEAD", "POST"])
def change_access(request: HttpRequest) -> HttpResponse:
    """Show the possible changes for a person and a source, or make the one that was chosen."""
    values = request.POST if request.method == "POST" else request.GET
    source = find_source(request, values.get("source", ""), Action.MANAGE)
    person_id = as_uuid(values.get("person", ""))
    if source is None or person_id is None:
        raise Http404
    members = Membership.objects.filter(organization=source.organization_id).select_related("user", "organization")
    membership = members.filter(pk=person_id).first()
    if membership is None:
        raise Http404
    matrix = f"{reverse('admin:rag_datasource_matrix')}?{urlencode({'organization': str(source.organization_id)})}"
    if request.method == "POST":
        _make_change(request, source, membership, values.get("change", ""))
        return HttpResponseRedirect(matrix)
    queryable = DataSource.objects.visible_to(Caller(membership.user), Action.QUERY)
    context = {
        **admin.site.each_context(request),
        "title": gettext("Change access: {user} and {name}").format(user=membership.user, name=source.name),
        "opts": DataSource._meta,
        "source": source,
        "membership": membership,
        "is_allowed": queryable.filter(pk=source.pk).exists(),
        "is_active": membership.is_active and membership.user.is_active,
        "fixed": grant_changes.describe_fixed_access(source),
        "changes": grant_changes.list_changes(source, membership),
        "may_change_members": manageable_organizations(request).filter(pk=source.organization_id).exists(),
        "matrix_url": matrix,
    }
    return TemplateResponse(request, "admin/rag/datasource/matrix_change.html", context)


def _make_change(request: HttpRequest, source: DataSource, membership: Membership, key: str) -> None:
    if not isinstance(request.user, User):
        raise PermissionDenied
    try:
        change = grant_changes.make_change(source, membership, key, actor=request.user)
    except InvalidRequest as error:
        messages.error(request, error.message)
        return
    if change is None:
        messages.error(request, gettext("Nothing was changed: the access is not what the page showed any more."))
    elif change.is_opening:
        messages.success(
            request, gettext("{source} is now open to {grantee}.").format(source=source.name, grantee=change.name)
        )
    else:
        messages.success(
            request,
            gettext("{source} is not open to {grantee} any more.").format(source=source.name, grantee=change.name),
        )
