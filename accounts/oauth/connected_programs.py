"""The page that lists the programs that a person has allowed to act for them. There they withdraw a permission."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect

from accounts import audited_events
from accounts.models import TokenFamily, User
from accounts.sign_in.pages import sign_in_redirect
from ragsite.postgres import identity
from ragsite.postgres.models import as_uuid

from .grants import MAX_GRANTS


@method_decorator([never_cache, csrf_protect], name="dispatch")
class AllowedPrograms(View):
    """Lists grants with the newest first; a POST ends one."""

    http_method_names = ("get", "post")

    def get(self, request: HttpRequest) -> HttpResponse:
        if redirect := sign_in_redirect(request):
            return redirect
        with identity.run_as(identity.SIGN_IN):  # requests do not read tokens
            families = TokenFamily.objects.filter(user=request.user.pk, client__isnull=False).select_related("client")
            grants = list(families.order_by("-created_at")[:MAX_GRANTS])
        return render(request, "accounts/oauth_programs.html", {"grants": grants})

    def post(self, request: HttpRequest) -> HttpResponse:
        if redirect := sign_in_redirect(request):
            return redirect
        assert isinstance(request.user, User)
        grant = as_uuid(request.POST.get("grant", ""))
        with identity.run_as(identity.SIGN_IN):
            grants = TokenFamily.objects.filter(user=request.user.pk, client__isnull=False)
            if grant and grants.filter(pk=grant).delete()[0]:
                audited_events.record_sign_out(request.user, "application")
        return HttpResponseRedirect(reverse("oauth_programs"))
