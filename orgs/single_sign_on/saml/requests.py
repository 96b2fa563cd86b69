"""Messages to an identity provider, as signed addresses to which the browser goes (SAML Bindings, 3.4)."""

import base64
import secrets
import zlib
from dataclasses import dataclass

from django.utils import timezone
from lxml import etree

from orgs.models import IdentityProvider
from orgs.single_sign_on.attempts import SignInAttempt

from . import service_provider, signatures, xml
from .service_provider import POST_BINDING, ServiceProvider

SUCCESS = "urn:oasis:names:tc:SAML:2.0:status:Success"


@dataclass(frozen=True, slots=True)
class SignedInPerson:
    """How the provider names a person and their session; a sign-out repeats it.

    Attributes:
        subject: The content of NameID.
        qualifiers: The attributes of NameID, such as its format.
        session: The provider's SessionIndex; empty if it has none.
    """

    subject: str
    qualifiers: dict[str, str]
    session: str


def request_id(attempt: SignInAttempt) -> str:
    """Return the ID of the request that begins a sign-in. The response names it."""
    return f"_{attempt.state}"  # an XML ID does not begin with a digit


def sign_in_url(provider: IdentityProvider, sp: ServiceProvider, attempt: SignInAttempt) -> str:
    """Return the address of the provider at which a person signs in.

    Raises:
        IdentityProviderFailed: If our key cannot be read.
    """
    message = _message("samlp:AuthnRequest", provider.sign_in_url, sp, request_id(attempt))
    message.set("AssertionConsumerServiceURL", sp.consumer_url)
    message.set("ProtocolBinding", POST_BINDING)
    return _signed_url(provider, provider.sign_in_url, "SAMLRequest", message)


def sign_out_url(provider: IdentityProvider, sp: ServiceProvider, person: SignedInPerson) -> str:
    """Return the address at which the person also signs out of the provider.

    Raises:
        IdentityProviderFailed: If our key cannot be read.
    """
    message = _message("samlp:LogoutRequest", provider.sign_out_url, sp, f"_{secrets.token_hex(20)}")
    etree.SubElement(message, xml.name("saml:NameID"), person.qualifiers).text = person.subject
    if person.session:
        etree.SubElement(message, xml.name("samlp:SessionIndex")).text = person.session
    return _signed_url(provider, provider.sign_out_url, "SAMLRequest", message)


def signed_out_url(provider: IdentityProvider, sp: ServiceProvider, in_response_to: str, relay_state: str) -> str:
    """Return the address that tells the provider that its request to sign a person out was carried out.

    Raises:
        IdentityProviderFailed: If our key cannot be read.
    """
    url = provider.sign_out_response_url or provider.sign_out_url
    message = _message("samlp:LogoutResponse", url, sp, f"_{secrets.token_hex(20)}")
    message.set("InResponseTo", in_response_to)
    status = etree.SubElement(message, xml.name("samlp:Status"))
    etree.SubElement(status, xml.name("samlp:StatusCode"), Value=SUCCESS)
    return _signed_url(provider, url, "SAMLResponse", message, relay_state)


def _message(kind: str, destination: str, sp: ServiceProvider, message_id: str) -> xml.Element:
    namespaces = {prefix: xml.NAMESPACES[prefix] for prefix in ("samlp", "saml")}
    message = etree.Element(xml.name(kind), nsmap=namespaces, ID=message_id, Version="2.0", Destination=destination)
    message.set("IssueInstant", timezone.now().strftime("%Y-%m-%dT%H:%M:%SZ"))
    etree.SubElement(message, xml.name("saml:Issuer")).text = sp.entity_id
    return message


def _signed_url(
    provider: IdentityProvider, url: str, parameter: str, message: xml.Element, relay_state: str = ""
) -> str:
    compressor = zlib.compressobj(wbits=-15)  # DEFLATE without a header
    content = compressor.compress(etree.tostring(message)) + compressor.flush()
    parameters = {parameter: base64.b64encode(content).decode()}
    if relay_state:
        parameters["RelayState"] = relay_state
    key, _ = service_provider.read_key(provider)
    return url + ("&" if "?" in url else "?") + signatures.sign_query(parameters, key)
