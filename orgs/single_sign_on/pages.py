"""The pages of single sign-on: to the identity provider, and back from it."""

import secrets
import uuid
from typing import cast
from urllib.parse import urlencode

import structlog
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, login
from django.contrib.auth.signals import user_login_failed
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext, gettext_noop
from django.views import View
from django.views.decorators.cache import never_cache

from accounts.models import MAX_EMAIL_CHARACTERS, User
from accounts.sign_in import second_factor
from accounts.sign_in.pages import END_SESSION_URL
from orgs.models import IdentityProvider, Protocol
from ragsite.postgres import encryption, identity
from ragsite.postgres.models import is_storable

from . import attempts, openid_connect
from .attempts import SignInAttempt
from .linked_accounts import SignInRefused, find_or_create_account
from .openid_connect import Client, InvalidResponse
from .provider_requests import IdentityProviderFailed, Provider
from .saml import requests as saml_requests
from .saml import service_provider

logger = structlog.get_logger(__name__)

_BACKEND = "orgs.single_sign_on.enforcement.SingleSignOnBackend"
_CODE_PAGE = "accounts/single_sign_on_code.html"
_UNKNOWN = gettext_noop("No organisation here has single sign-on for this address. Sign in with your password.")
_LOST = gettext_noop("This sign-in has expired, or was begun in another browser. Begin it again.")
_MAX_CHARACTERS = 4_000
_MAX_END_SESSION_CHARACTERS = 16_000


@method_decorator(never_cache, name="dispatch")
class SignInPage(View):
    """Base of the pages: they run with the database role of sign-in."""

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        identity.set_current(identity.SIGN_IN)
        return super().dispatch(request, *args, **kwargs)


class Start(SignInPage):
    """Sends a person to the provider of the organisation to which their e-mail address belongs.

    The response is a page that redirects by itself, not an HTTP redirect: browsers apply the form-action of the page
    with the form to redirects too.
    """

    def get(self, request: HttpRequest) -> HttpResponse:
        """Redirect to the form. Only the form begins a sign-in, so a link of another site cannot sign people in."""
        return HttpResponseRedirect(reverse("sign_in"))

    def post(self, request: HttpRequest) -> HttpResponse:
        email = User.objects.normalize_email(request.POST.get("email", "")[:MAX_EMAIL_CHARACTERS])
        provider = _provider_of_domain(email.rpartition("@")[2])
        if provider is None:
            return render_error(request, _UNKNOWN, status=404)
        attempt = SignInAttempt(provider_id=str(provider.pk), next_url=_safe_next(request, request.POST))
        try:
            url = _sign_in_url(request, provider, attempt)
        except IdentityProviderFailed as error:
            return render_failure(request, provider, error)
        response = render(request, "accounts/single_sign_on_redirect.html", {"url": url, "provider": provider})
        attempts.remember(response, request, attempt)
        return response


class ResponsePage(SignInPage):
    """Base of the pages that receive the response of a provider, and sign the person in."""

    protocol: Protocol

    def complete(self, request: HttpRequest, provider_id: uuid.UUID) -> HttpResponse:
        """Sign in whom the response names, if it belongs to the attempt of this browser."""
        attempt = attempts.read(request)
        if attempt is None or attempt.provider_id != str(provider_id) or not self.belongs_to(request, attempt):
            return render_error(request, _LOST, status=400)
        provider = active_providers().filter(pk=attempt.provider_id, protocol=self.protocol).first()
        if provider is None:
            return render_error(request, _UNKNOWN, status=404)
        try:
            claims, end_session_url = self.read_response(request, provider, attempt)
            response = _sign_in(request, find_or_create_account(provider, claims), attempt.next_url)
            # Servers refuse a longer address, and each session stores one.
            is_short = len(end_session_url) <= _MAX_END_SESSION_CHARACTERS
            request.session[END_SESSION_URL] = end_session_url if is_short else ""
        except SignInRefused as error:
            response = render_error(request, str(error), status=403)
        except IdentityProviderFailed as error:
            response = render_failure(request, provider, error)
        attempts.clear(response)
        return response

    def belongs_to(self, request: HttpRequest, attempt: SignInAttempt) -> bool:
        """Return whether the response belongs to the attempt."""
        raise NotImplementedError

    def read_response(
        self, request: HttpRequest, provider: IdentityProvider, attempt: SignInAttempt
    ) -> tuple[dict[str, object], str]:
        """Return the verified claims, and where the person signs out of the provider; empty if nowhere.

        Raises:
            IdentityProviderFailed: If the response is not valid.
        """
        raise NotImplementedError


class Callback(ResponsePage):
    """Receives the response of an OpenID Connect provider."""

    protocol = Protocol.OPENID_CONNECT

    def get(self, request: HttpRequest, provider_id: uuid.UUID) -> HttpResponse:
        return self.complete(request, provider_id)

    def belongs_to(self, request: HttpRequest, attempt: SignInAttempt) -> bool:
        return secrets.compare_digest(attempt.state.encode(), request.GET.get("state", "").encode())

    def read_response(
        self, request: HttpRequest, provider: IdentityProvider, attempt: SignInAttempt
    ) -> tuple[dict[str, object], str]:
        openid_connect.check_response_issuer(as_entered(provider), request.GET.get("iss"))
        code = request.GET.get("code", "")
        if not 0 < len(code) <= _MAX_CHARACTERS:
            raise InvalidResponse(gettext_noop("The identity provider has not signed you in."))
        client = _client(provider)
        claims, id_token = openid_connect.exchange_code(
            client, attempt, code, redirect_uri=redirect_uri(request, provider), groups_claim=provider.groups_claim
        )
        return_to = request.build_absolute_uri(reverse("sign_in"))
        return claims, openid_connect.end_session_url(client, id_token, return_to=return_to)


class EnterCode(SignInPage):
    """Asks staff whom a provider has signed in for the code of their own device, if the operator requires it."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._redirect_others(request) or render(request, _CODE_PAGE)

    def post(self, request: HttpRequest) -> HttpResponse:
        if response := self._redirect_others(request):
            return response
        user = cast("User", request.user)
        if not second_factor.complete_sign_in(
            request, user, request.POST.get("code", "")[: second_factor.MAX_CODE_LENGTH]
        ):
            # Wrong codes count as wrong passwords do (accounts.sign_in.lockout), and delay the next one.
            user_login_failed.send(__name__, credentials={"username": user.email}, request=request)
            return render(request, _CODE_PAGE, {"error": second_factor.WRONG_CODE}, status=400)
        return HttpResponseRedirect(_safe_next(request, request.GET))

    def _redirect_others(self, request: HttpRequest) -> HttpResponse | None:
        """Return the redirect for everybody who has not just come from a provider, or needs no code; else None."""
        is_from_provider = request.user.is_authenticated and request.session.get(BACKEND_SESSION_KEY) == _BACKEND
        if is_from_provider and not second_factor.is_verified(request.user):
            return None
        return HttpResponseRedirect(reverse("sign_in"))


def active_providers() -> QuerySet[IdentityProvider]:
    """Return the providers that sign people in."""
    providers = IdentityProvider.objects.select_related("organization")
    return providers.filter(is_active=True, organization__is_active=True, organization__deleted_at=None)


def _provider_of_domain(domain: str) -> IdentityProvider | None:
    if not is_storable(domain):
        return None
    verified = {"organization__sign_in_domains__domain": domain}
    return active_providers().filter(organization__sign_in_domains__verified_at__isnull=False, **verified).first()


def _client(provider: IdentityProvider) -> Client:
    try:
        secret = encryption.decrypt(provider.client_secret, encryption.Purpose.IDENTITY_PROVIDER)
    except encryption.UnreadableSecret:
        raise IdentityProviderFailed(
            gettext_noop("The client secret has to be entered again, because SECRET_KEY has changed.")
        ) from None
    return Client(as_entered(provider), provider.client_id, secret)


def as_entered(provider: IdentityProvider) -> Provider:
    """Return what requests to the provider need to know."""
    return Provider(provider.organization_id, provider.issuer)


def redirect_uri(request: HttpRequest, provider: IdentityProvider) -> str:
    """Return the address to which this provider, and no other one, sends people back.

    With one address for all, a provider could send people on to another organisation's provider, and would be given
    the code with which that one answers (RFC 9700, 4.4).
    """
    return request.build_absolute_uri(reverse("single_sign_on_callback", args=[provider.pk]))


def _sign_in_url(request: HttpRequest, provider: IdentityProvider, attempt: SignInAttempt) -> str:
    if provider.protocol == Protocol.SAML:
        return saml_requests.sign_in_url(provider, service_provider.addresses(request, provider), attempt)
    return openid_connect.authorization_url(_client(provider), attempt, redirect_uri=redirect_uri(request, provider))


def _sign_in(request: HttpRequest, user: User, next_url: str) -> HttpResponse:
    login(request, user, backend=_BACKEND)
    if settings.RAG_STAFF_OTP != "required" or not user.is_staff:
        # The provider decides about further factors. The code of the account's own device protects its password.
        second_factor.mark_verified_by_provider(request, user)
    elif second_factor.has_second_factor(user):
        next_url = f"{reverse('single_sign_on_code')}?{urlencode({'next': next_url})}"
    return HttpResponseRedirect(next_url)


def _safe_next(request: HttpRequest, fields: QueryDict) -> str:
    url = fields.get("next", "")[:1_000]
    is_safe = url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure())
    return url if is_safe else reverse("ask")


def render_failure(
    request: HttpRequest, provider: IdentityProvider, error: IdentityProviderFailed, *, status: int = 502
) -> HttpResponse:
    """Render what went wrong at the provider, and log it."""
    logger.warning("single_sign_on_failed", organization=provider.organization.slug, reason=str(error))
    return render_error(request, str(error), status=status)


def render_error(request: HttpRequest, reason: str, *, status: int) -> HttpResponse:
    """Render why nobody is signed in."""
    return render(request, "accounts/single_sign_on_refused.html", {"reason": gettext(reason)}, status=status)
