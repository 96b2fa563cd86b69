"""Checks an identity provider's request to sign a person out (SAML Profiles 2.0, 4.4: Single Logout)."""

import datetime
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from django.utils import timezone
from django.utils.translation import gettext_noop

from orgs.models import IdentityProvider
from orgs.models.single_sign_on import MAX_SUBJECT_CHARACTERS
from orgs.single_sign_on.clocks import LEEWAY, MAX_SIGN_OUT_AGE

from . import signatures, xml
from .responses import InvalidAssertion, check_issuer, decode, read_certificates
from .service_provider import ServiceProvider

_MAX_BYTES = 256_000
# SAML Bindings, 3.4.3, allow 80 bytes. Some providers send more; each may become three characters of an address.
_MAX_RELAY_STATE_BYTES = 1_000
# No signature covers the RelayState of a form. Ours must not vouch for an address that a stranger has put there.
_OPAQUE = re.compile(r"[\w.~+=-][\w.~+=/-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Logout:
    """Whom the provider signs out, since when, and what the response repeats of the request."""

    request_id: str
    subject: str
    issued_at: datetime.datetime
    relay_state: str


def read_form(form: Mapping[str, str], provider: IdentityProvider, sp: ServiceProvider) -> Logout:
    """Return whom a provider signs out with a form. The message in the form is signed.

    Args:
        form: The fields of the form.
        provider: The provider to whose address it was sent.
        sp: Who receives it.

    Raises:
        IdentityProviderFailed: If the request is not valid.
    """
    message = signatures.read_signed(xml.parse(decode(form.get("SAMLRequest", ""))), read_certificates(provider))
    relay_state = form.get("RelayState", "")
    return _read_request(message, provider, sp, relay_state if _OPAQUE.fullmatch(relay_state) else "")


def read_query(query: str, provider: IdentityProvider, sp: ServiceProvider) -> Logout:
    """Return whom a provider signs out with a redirect. The URL's query string is signed.

    Args:
        query: The query as it was received.
        provider: The provider to whose address it was sent.
        sp: Who receives it.

    Raises:
        IdentityProviderFailed: If the request is not valid.
    """
    signed = signatures.read_signed_query(query, "SAMLRequest", read_certificates(provider))
    message = xml.parse(_inflate(decode(signed["SAMLRequest"])))
    return _read_request(message, provider, sp, signed.get("RelayState", ""))


def _read_request(message: xml.Element, provider: IdentityProvider, sp: ServiceProvider, relay_state: str) -> Logout:
    if message.tag != xml.name("samlp:LogoutRequest") or message.get("Destination") != sp.sign_out_url:
        raise InvalidAssertion(gettext_noop("This is not a request to sign somebody out here."))
    check_issuer(message, provider)
    issued_at, not_on_or_after = xml.read_time(message, "IssueInstant"), xml.read_time(message, "NotOnOrAfter")
    now = timezone.now()
    has_expired = not_on_or_after is not None and not_on_or_after + LEEWAY <= now
    if issued_at is None or not now - MAX_SIGN_OUT_AGE <= issued_at <= now + LEEWAY or has_expired:
        raise InvalidAssertion(
            gettext_noop(
                "The request to sign somebody out has expired or is not valid yet. Check the clocks of both servers."
            )
        )
    subject = xml.read_text(xml.find_only(message, "saml:NameID"))
    request_id = message.get("ID", "")
    if not 0 < len(request_id) <= MAX_SUBJECT_CHARACTERS or len(relay_state.encode()) > _MAX_RELAY_STATE_BYTES:
        raise InvalidAssertion(gettext_noop("The request to sign somebody out has no usable ID or RelayState."))
    return Logout(request_id, subject, issued_at, relay_state)


def _inflate(content: bytes) -> bytes:
    decompressor = zlib.decompressobj(wbits=-15)
    try:
        inflated = decompressor.decompress(content, _MAX_BYTES)
    except zlib.error:
        raise InvalidAssertion(gettext_noop("The message is malformed.")) from None
    if decompressor.unconsumed_tail:
        raise InvalidAssertion(gettext_noop("The message is too large."))
    return inflated
