"""Receives the message of a provider that a person has signed out (OpenID Connect Back-Channel Logout 1.0)."""

import uuid

import structlog
from django.http import HttpRequest, JsonResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from orgs.models import IdentityProvider, Protocol
from ragsite.http.addresses import build_public_url
from ragsite.postgres import identity

from . import openid_connect
from .linked_accounts import end_sign_ins_of
from .pages import active_providers, as_entered
from .provider_requests import IdentityProviderFailed

logger = structlog.get_logger(__name__)

_MAX_CHARACTERS = 10_000


def logout_url(request: HttpRequest, provider: IdentityProvider) -> str:
    """Return the address that is registered at the provider."""
    return build_public_url(request, reverse("single_sign_on_logout", args=[provider.pk]))


@method_decorator(csrf_exempt, name="dispatch")  # the provider's server has no cookies; its signature is checked
class BackChannelLogout(View):
    """Ends all sign-ins of the person whom the provider's logout token names."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, provider_id: uuid.UUID) -> JsonResponse:
        identity.set_current(identity.SIGN_IN)
        # A provider without a verified domain decides about nobody, and is not even asked for its keys.
        has_domain = {"organization__sign_in_domains__verified_at__isnull": False, "protocol": Protocol.OPENID_CONNECT}
        provider = active_providers().filter(pk=provider_id, **has_domain).first()
        token = request.POST.get("logout_token", "")
        try:
            if provider is None or not 0 < len(token) <= _MAX_CHARACTERS:
                raise openid_connect.InvalidResponse("There is no such provider, or no logout_token.")
            logout = openid_connect.verify_logout_token(as_entered(provider), provider.client_id, token)
        except IdentityProviderFailed as error:
            logger.warning("back_channel_logout_refused", provider=str(provider_id), reason=str(error))
            response = JsonResponse({"error": "invalid_request", "error_description": str(error)}, status=400)
        else:
            end_sign_ins_of(provider, logout.subject, requested_at=logout.issued_at)
            response = JsonResponse({})
        response["Cache-Control"] = "no-store"
        return response
