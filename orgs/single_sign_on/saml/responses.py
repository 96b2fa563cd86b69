"""Checks what an identity provider says about a person (SAML Profiles 2.0, 4.1: Web Browser SSO)."""

import base64
import binascii
import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509
from django.utils import timezone
from django.utils.translation import gettext_noop

from orgs.models import IdentityProvider
from orgs.models.single_sign_on import MAX_SUBJECT_CHARACTERS
from orgs.single_sign_on.clocks import LEEWAY
from orgs.single_sign_on.provider_requests import IdentityProviderFailed
from ragsite.postgres.models import is_storable

from . import signatures, xml
from .requests import SUCCESS, SignedInPerson
from .service_provider import ServiceProvider

MAX_CHARACTERS = 64_000
_BEARER = "urn:oasis:names:tc:SAML:2.0:cm:bearer"
_TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
_EMAIL_FORMAT = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"
_NAME_ID_ATTRIBUTES = ("Format", "NameQualifier", "SPNameQualifier")
# As Entra ID and AD FS, directories (LDAP), and Okta, Keycloak and others name them.
_EMAIL_ATTRIBUTES = (
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
    "urn:oid:0.9.2342.19200300.100.1.3",
    *("email", "mail", "emailAddress", "emailaddress"),
)
_NAME_ATTRIBUTES = (
    "http://schemas.microsoft.com/identity/claims/displayname",
    "urn:oid:2.16.840.1.113730.3.1.241",
    *("displayName", "displayname", "name", "cn"),
)


class InvalidAssertion(IdentityProviderFailed):
    """The response does not prove who signs in."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """What a provider has said, once, about a person."""

    assertion_id: str
    expires_at: datetime.datetime
    person: SignedInPerson
    claims: dict[str, object]


def read_response(text: str, provider: IdentityProvider, sp: ServiceProvider, *, request_id: str) -> Assertion:
    """Return what a response to our request says, if the provider has signed it, for us and for now.

    Args:
        text: The response as the form has it, in base64.
        provider: The provider that was asked.
        sp: Who receives it.
        request_id: The ID of the request.

    Raises:
        IdentityProviderFailed: If the response is not valid.
    """
    response = xml.parse(decode(text))
    if response.tag != xml.name("samlp:Response"):
        raise InvalidAssertion(gettext_noop("The identity provider sent a message that is not a response."))
    certificates = read_certificates(provider)
    if response.find("ds:Signature", xml.NAMESPACES) is not None:
        response = signatures.read_signed(response, certificates)
        assertion = _only_assertion(response)
    else:
        assertion = signatures.read_signed(_only_assertion(response), certificates)
    _check_envelope(response, provider, sp.consumer_url, request_id)
    check_issuer(assertion, provider)
    expires_at = _check_subject_confirmation(assertion, sp.consumer_url, request_id)
    _check_conditions(assertion, sp.entity_id)
    person = _read_person(assertion)
    assertion_id = assertion.get("ID", "")
    if not 0 < len(assertion_id) <= MAX_SUBJECT_CHARACTERS:
        raise InvalidAssertion(gettext_noop("The assertion has no usable ID."))
    return Assertion(assertion_id, expires_at, person, _read_claims(assertion, person, provider.groups_claim))


def _only_assertion(response: xml.Element) -> xml.Element:
    if response.find("saml:EncryptedAssertion", xml.NAMESPACES) is not None:
        raise InvalidAssertion(
            gettext_noop("The assertion is encrypted. Switch the encryption off at the identity provider.")
        )
    if response.find("saml:Assertion", xml.NAMESPACES) is None:
        _check_status(response)
    return xml.find_only(response, "saml:Assertion")


def _check_envelope(response: xml.Element, provider: IdentityProvider, consumer_url: str, request_id: str) -> None:
    """Check the response around the assertion. It need not be signed: what it says, the assertion repeats."""
    _check_status(response)
    if response.get("Destination", consumer_url) != consumer_url:
        raise InvalidAssertion(gettext_noop("The response is for another address."))
    if response.get("InResponseTo", request_id) != request_id:
        raise InvalidAssertion(gettext_noop("The response belongs to another sign-in."))
    if response.find("saml:Issuer", xml.NAMESPACES) is not None:
        check_issuer(response, provider)


def _check_status(response: xml.Element) -> None:
    if xml.find_only(response, "samlp:Status/samlp:StatusCode").get("Value") != SUCCESS:
        raise InvalidAssertion(gettext_noop("The identity provider has not signed you in."))


def check_issuer(message: xml.Element, provider: IdentityProvider) -> None:
    """Raise InvalidAssertion if another provider has sent the message."""
    if xml.read_text(xml.find_only(message, "saml:Issuer")) != provider.issuer:
        raise InvalidAssertion(gettext_noop("The message comes from another identity provider."))


def _check_subject_confirmation(assertion: xml.Element, consumer_url: str, request_id: str) -> datetime.datetime:
    """Check that the bearer may use the assertion here, for our request, and return until when (Profiles, 4.1.4.3)."""
    confirmations = assertion.findall("saml:Subject/saml:SubjectConfirmation", xml.NAMESPACES)
    bearers = [item for item in confirmations if item.get("Method") == _BEARER]
    for bearer in bearers:
        data = xml.find_only(bearer, "saml:SubjectConfirmationData")
        until = xml.read_time(data, "NotOnOrAfter")
        is_for_us = (data.get("Recipient"), data.get("InResponseTo")) == (consumer_url, request_id)
        if is_for_us and until is not None and timezone.now() < until + LEEWAY and data.get("NotBefore") is None:
            return until + LEEWAY
    raise InvalidAssertion(gettext_noop("The assertion is for another sign-in, for another address, or too old."))


def _check_conditions(assertion: xml.Element, entity_id: str) -> None:
    conditions = xml.find_only(assertion, "saml:Conditions")
    not_before, until = xml.read_time(conditions, "NotBefore"), xml.read_time(conditions, "NotOnOrAfter")
    now = timezone.now()
    if (not_before is not None and now < not_before - LEEWAY) or (until is not None and now >= until + LEEWAY):
        raise InvalidAssertion(
            gettext_noop("The assertion is not valid at this time. Compare the clocks of both servers.")
        )
    restrictions = conditions.findall("saml:AudienceRestriction", xml.NAMESPACES)
    audiences = [
        {xml.read_text(audience) for audience in restriction.findall("saml:Audience", xml.NAMESPACES)}
        for restriction in restrictions
    ]
    if not audiences or not all(entity_id in named for named in audiences):
        raise InvalidAssertion(gettext_noop("The assertion is for another audience."))


def _read_person(assertion: xml.Element) -> SignedInPerson:
    name_id = xml.find_only(assertion, "saml:Subject/saml:NameID")
    subject = xml.read_text(name_id)
    # Without its spaces, a NameID could be that of somebody else.
    is_exact = subject == (name_id.text or "")
    if not 0 < len(subject) <= MAX_SUBJECT_CHARACTERS or not is_storable(subject) or not is_exact:
        raise InvalidAssertion(gettext_noop("The identity provider sent no usable NameID."))
    if name_id.get("Format") == _TRANSIENT:
        raise InvalidAssertion(
            gettext_noop("The NameID is transient. Let the identity provider send one that stays the same.")
        )
    statements = assertion.findall("saml:AuthnStatement", xml.NAMESPACES)
    if not statements:
        raise InvalidAssertion(gettext_noop("The assertion does not say that the person has signed in."))
    qualifiers = {name: name_id.get(name) for name in _NAME_ID_ATTRIBUTES if name_id.get(name)}
    return SignedInPerson(subject, qualifiers, statements[0].get("SessionIndex", ""))


def _read_claims(assertion: xml.Element, person: SignedInPerson, groups_claim: str) -> dict[str, object]:
    """Return the attributes as the claims that an OpenID Connect provider would send.

    Others may contain any XML (SAML Core, 2.7.3.1.1). A name may come several times.
    """
    attributes: dict[str, list[str]] = {name: [] for name in (*_EMAIL_ATTRIBUTES, *_NAME_ATTRIBUTES, groups_claim)}
    for attribute in assertion.findall("saml:AttributeStatement/saml:Attribute", xml.NAMESPACES):
        if (values := attributes.get(attribute.get("Name"))) is not None:
            values += [xml.read_text(value) for value in attribute.findall("saml:AttributeValue", xml.NAMESPACES)]
    email = _first(attributes, _EMAIL_ATTRIBUTES)
    if email is None and person.qualifiers.get("Format") == _EMAIL_FORMAT:
        email = person.subject
    names = {"email": email, "name": _first(attributes, _NAME_ATTRIBUTES)}
    return {**names, groups_claim: attributes[groups_claim], "sub": person.subject}


def _first(attributes: dict[str, list[str]], names: Sequence[str]) -> str | None:
    return next((attributes[name][0] for name in names if attributes.get(name)), None)


def read_certificates(provider: IdentityProvider) -> list[x509.Certificate]:
    """Return the certificates of the provider. Raises InvalidAssertion if they cannot be read."""
    try:
        return signatures.load_certificates(provider.certificates)
    except ValueError:
        raise InvalidAssertion(gettext_noop("The certificates of the identity provider cannot be read.")) from None


def decode(text: str) -> bytes:
    """Return the XML of a message. Raises InvalidAssertion if there is none, or too much."""
    try:
        if not 0 < len(text) <= MAX_CHARACTERS:
            raise ValueError
        return base64.b64decode(text)
    except (ValueError, binascii.Error):
        raise InvalidAssertion(gettext_noop("The identity provider has not signed you in.")) from None
