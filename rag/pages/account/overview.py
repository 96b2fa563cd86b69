"""The page "Account": who the visitor is here, their API keys, and the end of all sign-ins."""

from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from accounts.sign_in import second_factor
from accounts.sign_out_everywhere import end_sign_ins
from orgs.access.caller import get_caller
from orgs.models import ApiKey, Membership
from rag.pages.base import page, rate_limited
from ragsite.postgres import identity

from .api_keys import describe_scopes
from .password import has_own_password

_MAX_MEMBERSHIPS = 100


@page
@require_safe
def show_account(request: HttpRequest) -> HttpResponse:
    user = get_caller(request).authenticated_user
    keys = ApiKey.objects.live().filter(user=user)
    context: dict[str, object] = {
        "section": "account",
        "title": _("Account"),
        "memberships": _list_memberships(user),
        "keys": [(key, describe_scopes(key)) for key in keys.select_related("organization").order_by("-pk")],
        "has_password": has_own_password(user),
        "may_have_second_factor": user.is_staff and second_factor.is_enabled(),
        "has_second_factor": second_factor.has_second_factor(user),
    }
    return render(request, "pages/account/overview.html", context)


@page
@require_POST
@rate_limited()
def sign_out_everywhere(request: HttpRequest) -> HttpResponse:
    """End all sessions and tokens of the visitor, this session too."""
    user = get_caller(request).authenticated_user
    with identity.run_as(identity.SIGN_IN):
        end_sign_ins(user, requested_at=timezone.now(), method="everywhere")
        logout(request)
        messages.success(request, _("You are signed out everywhere. API keys still work."))
    return HttpResponseRedirect(reverse("sign_in"))


def _list_memberships(user: User) -> list[Membership]:
    """Return the user's active memberships with their organisations, roles and teams."""
    memberships = Membership.objects.active_for(user).select_related("organization")
    return list(memberships.prefetch_related("roles", "teams").order_by("organization__name")[:_MAX_MEMBERSHIPS])
