"""The pages to sign in and out, for every account, and the check that a page's visitor has signed in."""

from http import HTTPStatus
from urllib.parse import urlencode, urlsplit, urlunsplit

from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import LoginView, LogoutView, redirect_to_login
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from rest_framework_simplejwt.tokens import AccessToken

from accounts.models import User
from accounts.sign_out_everywhere import SignInEnded, require_not_ended
from ragsite.postgres import identity

from . import known_devices, password_reset, second_factor
from .forms import SignInForm
from .password_backend import TooManyPasswordChecks

# The session's key for the address at which its user signs out of their identity provider.
END_SESSION_URL = "end_session_url"


class SignIn(LoginView):
    """Signs in any active account. Locks, known devices and the second factor apply as in the admin and the API."""

    template_name = "accounts/sign_in.html"
    authentication_form = SignInForm

    def get_context_data(self, **context: object) -> dict[str, object]:
        return super().get_context_data(**context, can_reset_password=password_reset.is_available())

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        identity.set_current(identity.SIGN_IN)
        user = request.user
        if request.method != "POST" and isinstance(user, User) and second_factor.is_verified(user):
            return HttpResponseRedirect(self.get_success_url())
        try:
            response: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        except TooManyPasswordChecks as error:
            return render_too_many_checks(request, error)
        # The response to the form is a redirect only after a sign-in.
        if request.method == "POST" and response.status_code == HTTPStatus.FOUND and isinstance(request.user, User):
            known_devices.remember(response, request.user)
        return response


class SignOut(LogoutView):
    """Ends the session. Only by POST, so that no link of another site does it.

    For the sign-out of an identity provider, the response is a page that redirects by itself, because the content
    security policy does not allow a form to lead to another site.
    """

    next_page = "sign_in"

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:  # type: ignore[override]
        identity.set_current(identity.SIGN_IN)
        url = request.session.get(END_SESSION_URL) if request.method == "POST" else None
        response = super().dispatch(request, *args, **kwargs)
        return render(request, "accounts/signed_out.html", {"url": url}) if url else response


@method_decorator([never_cache, csrf_protect], name="dispatch")
class ShowAccessToken(View):
    """Shows an access token to a signed-in user, for example to create an API key.

    Single sign-on users, who have no password, need this page.
    """

    def get(self, request: HttpRequest) -> HttpResponse:
        return sign_in_redirect(request) or render(request, "accounts/access_token.html")

    def post(self, request: HttpRequest) -> HttpResponse:
        if redirect := sign_in_redirect(request):
            return redirect
        assert isinstance(request.user, User)
        # Only this role may read the password hash, a digest of which the token contains.
        try:
            with identity.run_as(identity.SIGN_IN), transaction.atomic():
                require_not_ended(request.user)
                token = AccessToken.for_user(User.objects.get(pk=request.user.pk))
        except SignInEnded:
            return HttpResponseRedirect(reverse("sign_in"))
        return render(request, "accounts/access_token.html", {"token": str(token)})


def render_too_many_checks(request: HttpRequest, error: TooManyPasswordChecks) -> HttpResponse:
    """Render the response while too many passwords are checked."""
    context = {"reason": _(str(error.detail)), "title": _("Try again")}
    response = render(request, "accounts/locked.html", context, status=error.status_code)
    response["Retry-After"] = str(error.wait)
    return response


def sign_in_redirect(request: HttpRequest, **query: str) -> HttpResponse | None:
    """Return a redirect to the sign-in page, or None if the user has signed in completely.

    Args:
        request: If it sends a form, the page of the form is shown after the sign-in.
        query: What was typed into that form, as parameters of its page.
    """
    user: User | AnonymousUser = request.user
    if isinstance(user, User) and second_factor.is_verified(user):
        return None
    if isinstance(user, User) and second_factor.must_enrol(user):
        return HttpResponseRedirect(reverse("admin:second_factor"))
    page = request.get_full_path() if request.method != "POST" else _page_of_form(request, query)
    return redirect_to_login(page, reverse("sign_in"))


def _page_of_form(request: HttpRequest, query: dict[str, str]) -> str:
    """Return the page from which a form was sent: the address of the form may have no page."""
    try:
        page = urlsplit(request.headers.get("Referer", ""))
    except ValueError:
        return "/"
    if page.netloc != request.get_host():
        return "/"
    return urlunsplit(("", "", page.path, urlencode(query) or page.query, ""))
