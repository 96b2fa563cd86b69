"""A data source's page "Access": what a user may do with it, and why."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from accounts.models import MAX_EMAIL_CHARACTERS
from orgs.access.caller import get_caller
from rag.admin.sources.source_page_base import get_managed_source, list_member_emails, render_page
from rag.services.access import explain_access


@require_safe
def show_access(request: HttpRequest, source_id: uuid.UUID) -> HttpResponse:
    source = get_managed_source(request, source_id)
    user_reference = request.GET.get("user", "")[:MAX_EMAIL_CHARACTERS].replace("\0", "").strip()
    verdicts: tuple[explain_access.Verdict, ...] = ()
    if user_reference:
        person = explain_access.find_person(user_reference, [source.organization_id], caller=get_caller(request))
        verdicts = explain_access.explain_access(source, person)
    return render_page(
        request,
        "access",
        source,
        gettext("Access"),
        user_reference=user_reference,
        verdicts=verdicts,
        members=list_member_emails(source),
    )
