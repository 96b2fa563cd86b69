"""The consent page: a person who has signed in allows a client to search and ask as they can, or does not."""

import re
from urllib.parse import urlencode, urlsplit

from django.contrib.auth import BACKEND_SESSION_KEY, load_backend
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect

from accounts.models import OAuthClient, User
from accounts.sign_in.pages import sign_in_redirect
from accounts.sign_in.password_backend import PasswordBackend
from accounts.sign_out_everywhere import SignInEnded
from ragsite.postgres import identity

from . import clients, grants, resource
from .errors import OAuthError
from .grants import Authorization

_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_MAX_STATE_CHARACTERS = 2_000


@method_decorator([never_cache, csrf_protect], name="dispatch")
class Authorize(View):
    """Shows who asks for what, and sends the person back to the client with the decision.

    Until the client and its address are known to be genuine, errors are shown here: nobody is sent to an address that
    a stranger has put into a link.
    """

    http_method_names = ("get", "post")

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        if redirect := sign_in_redirect(request):
            return redirect
        identity.set_current(identity.SIGN_IN)
        client, redirect_uri = clients.find(request.GET.get("client_id")), request.GET.get("redirect_uri", "")
        if client is None or not clients.has_redirect_uri(client, redirect_uri):
            reason = _("This link names no program that is registered here. Start again in the program that sent you.")
            return render(request, "accounts/oauth_refused.html", {"reason": reason}, status=400)
        try:
            authorization = read_authorization(request, client, redirect_uri)
        except OAuthError as error:
            # Anybody may register a program. Without a decision, nobody is sent to its address (RFC 9700, 4.11.2).
            answer = {"error": error.code, "error_description": error.description}
            return _send_back(request, redirect_uri, is_decided=False, **answer)
        return super().dispatch(request, authorization)

    def get(self, request: HttpRequest, authorization: Authorization) -> HttpResponse:
        context = {"client": authorization.client, "host": urlsplit(authorization.redirect_uri).netloc}
        return render(request, "accounts/oauth_consent.html", context)

    def post(self, request: HttpRequest, authorization: Authorization) -> HttpResponse:
        assert isinstance(request.user, User)
        if request.POST.get("decision") != "allow":
            return _send_back(request, authorization.redirect_uri, error="access_denied")
        try:
            code = grants.create_code(request.user, authorization)
        except SignInEnded:
            return _send_back(request, authorization.redirect_uri, error="access_denied")
        return _send_back(request, authorization.redirect_uri, code=code)


def read_authorization(request: HttpRequest, client: OAuthClient, redirect_uri: str) -> Authorization:
    """Read what the client asks for.

    Raises:
        OAuthError: If it asks for anything but a code with PKCE for the MCP server.
    """
    query, own_resource = request.GET, resource.resource_url(request)
    if any(len(query.getlist(name)) > 1 for name in query):
        raise OAuthError("invalid_request", "A parameter was sent more than once.")
    if query.get("response_type") != "code":
        raise OAuthError("unsupported_response_type", "response_type must be code.")
    challenge = query.get("code_challenge", "")
    if query.get("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(challenge):
        raise OAuthError("invalid_request", "PKCE is required: code_challenge with code_challenge_method=S256.")
    if query.get("resource", own_resource) != own_resource:
        raise OAuthError("invalid_target", f"The only resource is {own_resource}.")
    if not set(query.get("scope", "").split()) <= {grants.SCOPE}:
        raise OAuthError("invalid_scope", f"The only scope is {grants.SCOPE}.")
    if len(query.get("state", "")) > _MAX_STATE_CHARACTERS:
        raise OAuthError("invalid_request", f"state has more than {_MAX_STATE_CHARACTERS} characters.")
    backend = load_backend(request.session.get(BACKEND_SESSION_KEY, ""))
    by_password = isinstance(backend, PasswordBackend)
    return Authorization(client, redirect_uri, challenge, own_resource, by_password=by_password)


def _send_back(request: HttpRequest, redirect_uri: str, *, is_decided: bool = True, **answer: str) -> HttpResponse:
    """Return a page that takes the browser back to the client, with its `state` and the issuer (RFC 9207).

    It is not a redirect: browsers apply the directive form-action ('self') of the consent page to redirects after its
    form too, and would block one to the client. If nobody has decided, the page has only a link.
    """
    query: QueryDict = request.GET
    state = {"state": query["state"][:_MAX_STATE_CHARACTERS]} if "state" in query else {}
    parameters = urlencode({**answer, **state, "iss": resource.issuer(request)})
    url = redirect_uri + ("&" if "?" in redirect_uri else "?") + parameters
    return render(
        request,
        "accounts/oauth_return.html",
        {"url": url, "host": urlsplit(redirect_uri).netloc, "is_decided": is_decided},
    )
