"""The addresses of this installation that SAML providers know: its metadata, and where it receives messages."""

import dataclasses
import json
import uuid
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext_noop
from django.views.decorators.csrf import csrf_exempt

from orgs.models import IdentityProvider, Protocol, UsedAssertion
from orgs.single_sign_on import attempts
from orgs.single_sign_on.attempts import SignInAttempt
from orgs.single_sign_on.linked_accounts import end_sign_ins_of
from orgs.single_sign_on.pages import ResponsePage, SignInPage, active_providers, render_failure
from orgs.single_sign_on.provider_requests import IdentityProviderFailed
from ragsite.postgres import encryption

from . import requests, service_provider
from .logout import read_form, read_query
from .requests import SignedInPerson
from .responses import MAX_CHARACTERS, Assertion, InvalidAssertion, read_response

_METADATA_TYPE = "application/samlmetadata+xml"


class Metadata(SignInPage):
    """The document that an identity provider reads to know this installation."""

    def get(self, request: HttpRequest, provider_id: uuid.UUID) -> HttpResponse:
        provider = _provider(provider_id)
        try:
            _, certificate = service_provider.read_key(provider)
        except IdentityProviderFailed as error:
            return render_failure(request, provider, error)
        sp = service_provider.addresses(request, provider)
        return HttpResponse(service_provider.build_metadata(sp, certificate), content_type=_METADATA_TYPE)


@method_decorator(csrf_exempt, name="dispatch")  # the provider's page has no token; what it sends is signed
class Consumer(ResponsePage):
    """Receives the response of a provider, from a form on its page."""

    protocol = Protocol.SAML

    def post(self, request: HttpRequest, provider_id: uuid.UUID) -> HttpResponse:
        """Sign the person in.

        Browsers send no cookies with a form of another site (SameSite), and so not the attempt. A page of ours then
        sends the same form again.
        """
        response = request.POST.get("SAMLResponse", "")[:MAX_CHARACTERS]
        if "again" not in request.POST and attempts.read(request) is None:
            return render(request, "accounts/saml_continue.html", {"response": response})
        return self.complete(request, provider_id)

    def belongs_to(self, request: HttpRequest, attempt: SignInAttempt) -> bool:
        return True  # the response names the request, which `read_response` compares

    def read_response(
        self, request: HttpRequest, provider: IdentityProvider, attempt: SignInAttempt
    ) -> tuple[dict[str, object], str]:
        text, sp = request.POST.get("SAMLResponse", ""), service_provider.addresses(request, provider)
        assertion = read_response(text, provider, sp, request_id=requests.request_id(attempt))
        _use_once(provider, assertion)
        return assertion.claims, _sign_out_page(provider, assertion.person) if provider.sign_out_url else ""


class SignOut(SignInPage):
    """Sends somebody who has signed out here to the provider's sign-out."""

    def get(self, request: HttpRequest, provider_id: uuid.UUID) -> HttpResponse:
        provider = _provider(provider_id)
        try:
            content = encryption.decrypt(request.GET.get("person", ""), encryption.Purpose.SIGN_OUT)
            named_provider, person_fields = json.loads(content)
            if named_provider != str(provider.pk):  # a provider must not name people of another one
                return HttpResponseRedirect(reverse("sign_in"))
            person = SignedInPerson(**person_fields)
            url = requests.sign_out_url(provider, service_provider.addresses(request, provider), person)
        except (encryption.UnreadableSecret, IdentityProviderFailed):
            return HttpResponseRedirect(reverse("sign_in"))
        return HttpResponseRedirect(url if provider.sign_out_url else reverse("sign_in"))


@method_decorator(csrf_exempt, name="dispatch")
class SingleLogout(SignInPage):
    """Receives requests of a provider to sign somebody out, and its responses to ours, through the browser."""

    def get(self, request: HttpRequest, provider_id: uuid.UUID) -> HttpResponse:
        return self._receive(request, provider_id, request.GET)

    def post(self, request: HttpRequest, provider_id: uuid.UUID) -> HttpResponse:
        return self._receive(request, provider_id, request.POST)

    def _receive(self, request: HttpRequest, provider_id: uuid.UUID, fields: QueryDict) -> HttpResponse:
        if "SAMLRequest" not in fields:  # a response: here the person has been signed out before
            return HttpResponseRedirect(reverse("sign_in"))
        provider = _provider(provider_id)
        try:
            sp = service_provider.addresses(request, provider)
            if request.method == "POST":
                logout = read_form(fields, provider, sp)
            else:
                logout = read_query(request.META.get("QUERY_STRING", ""), provider, sp)
        except IdentityProviderFailed as error:
            return render_failure(request, provider, error, status=400)  # anybody may have sent it
        try:
            end_sign_ins_of(provider, logout.subject, requested_at=logout.issued_at)
            url = requests.signed_out_url(provider, sp, logout.request_id, logout.relay_state)
        except IdentityProviderFailed as error:
            return render_failure(request, provider, error)
        return HttpResponseRedirect(url if provider.sign_out_url else reverse("sign_in"))


def _provider(provider_id: uuid.UUID) -> IdentityProvider:
    provider: IdentityProvider | None = active_providers().filter(pk=provider_id, protocol=Protocol.SAML).first()
    if provider is None:
        raise Http404
    return provider


def _use_once(provider: IdentityProvider, assertion: Assertion) -> None:
    """Note that the assertion was used, and forget those that are too old to be used again.

    Raises:
        InvalidAssertion: If it was used before.
    """
    used = UsedAssertion.objects.filter(provider=provider)
    used.filter(expires_at__lt=timezone.now()).delete()
    values = {"provider": provider, "assertion_id": assertion.assertion_id}
    _, is_new = UsedAssertion.objects.get_or_create(**values, defaults={"expires_at": assertion.expires_at})
    if not is_new:
        raise InvalidAssertion(gettext_noop("The response was used before."))


def _sign_out_page(provider: IdentityProvider, person: SignedInPerson) -> str:
    """Return the page of ours that leads to the provider's sign-out, with a request of that moment."""
    content = encryption.encrypt(
        json.dumps([str(provider.pk), dataclasses.asdict(person)]), encryption.Purpose.SIGN_OUT
    )
    return f"{reverse('saml_sign_out_there', args=[provider.pk])}?{urlencode({'person': content})}"
