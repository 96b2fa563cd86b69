"""What an identity provider's metadata says: its name, its addresses, its certificates (SAML Metadata)."""

import base64
import binascii
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from django.utils import timezone
from django.utils.translation import gettext_noop

from orgs.single_sign_on.provider_requests import IdentityProviderFailed
from ragsite.http import outbound_connections

from . import xml
from .service_provider import REDIRECT_BINDING

_NS = xml.NAMESPACES
MAX_CHARACTERS = 200_000
_MAX_ADDRESS_CHARACTERS = 500
_MAX_CERTIFICATES = 10


@dataclass(frozen=True, slots=True)
class Metadata:
    """An identity provider.

    Attributes:
        sign_out_url: Empty if it has no single logout.
        sign_out_response_url: Where it expects responses to its sign-outs; empty if at `sign_out_url`.
        certificates: In PEM.
    """

    issuer: str
    sign_in_url: str
    sign_out_url: str
    sign_out_response_url: str
    certificates: str


def read_metadata(text: str) -> Metadata:
    """Read the metadata of one identity provider.

    Raises:
        IdentityProviderFailed: If it is malformed, or lacks what a sign-in needs.
    """
    root = xml.parse(text.strip().encode())
    entities = [root] if root.tag == xml.name("md:EntityDescriptor") else root.findall(".//md:EntityDescriptor", _NS)
    providers = [entity for entity in entities if entity.find("md:IDPSSODescriptor", _NS) is not None]
    if len(providers) != 1:
        raise IdentityProviderFailed(gettext_noop("The metadata must describe one identity provider."))
    role = xml.find_only(providers[0], "md:IDPSSODescriptor")
    issuer = providers[0].get("entityID", "")
    if not 0 < len(issuer) <= _MAX_ADDRESS_CHARACTERS:
        raise IdentityProviderFailed(gettext_noop("The metadata has no usable entityID."))
    sign_in = _endpoint(role, "md:SingleSignOnService")
    if sign_in is None:
        raise IdentityProviderFailed(
            gettext_noop("The metadata has no SingleSignOnService with the binding HTTP-Redirect.")
        )
    sign_in_url = _read_address(sign_in.get("Location", ""))
    return Metadata(issuer, sign_in_url, *_sign_out_addresses(role), _certificates(role))


def _sign_out_addresses(role: xml.Element) -> tuple[str, str]:
    """Return the URL of logout requests and that of responses, empty if it is the same (SAML Metadata, 2.2.2)."""
    endpoint = _endpoint(role, "md:SingleLogoutService")
    if endpoint is None:
        return "", ""
    response_location = endpoint.get("ResponseLocation", "")
    return _read_address(endpoint.get("Location", "")), _read_address(response_location) if response_location else ""


def _endpoint(role: xml.Element, service: str) -> xml.Element | None:
    endpoints = role.findall(service, _NS)
    return next((endpoint for endpoint in endpoints if endpoint.get("Binding") == REDIRECT_BINDING), None)


def _read_address(url: str) -> str:
    if len(url) > _MAX_ADDRESS_CHARACTERS:  # before it is taken apart, which takes the square of its length
        raise IdentityProviderFailed(gettext_noop("The metadata has an address that is too long."))
    outbound_connections.check_scheme(url, setting=outbound_connections.SIGN_IN_HOSTS, error=IdentityProviderFailed)
    return str(url)


def _certificates(role: xml.Element) -> str:
    """Return the certificates that are valid today, in PEM. Providers publish the next one before they use it."""
    keys = [key for key in role.findall("md:KeyDescriptor", _NS) if key.get("use", "signing") == "signing"]
    elements = [item for key in keys for item in key.findall("ds:KeyInfo/ds:X509Data/ds:X509Certificate", _NS)]
    elements = elements[:_MAX_CERTIFICATES]
    try:
        certificates = [x509.load_der_x509_certificate(base64.b64decode(xml.read_text(item))) for item in elements]
    except (ValueError, binascii.Error):
        raise IdentityProviderFailed(gettext_noop("The metadata has a malformed certificate.")) from None
    usable = [certificate for certificate in certificates if certificate.not_valid_after_utc > timezone.now()]
    if not usable:
        raise IdentityProviderFailed(
            gettext_noop("The metadata has no certificate for signatures that is still valid.")
        )
    return "".join(certificate.public_bytes(Encoding.PEM).decode() for certificate in usable)
