"""Checks an identity provider's request to sign a person out (SAML Profiles 2.0, 4.4: Single Logout)."""

import datetime
import zlib
from dataclasses import dataclass

from django.utils import timezone
from django.utils.translation import gettext_noop

from orgs.models import IdentityProvider
from orgs.models.single_sign_on import MAX_SUBJECT_CHARACTERS

from . import signatures, xml
from .responses import LEEWAY, InvalidAssertion, check_issuer, decode, read_certificates
from .service_provider import ServiceProvider

_MAX_AGE = datetime.timedelta(minutes=5)
_MAX_BYTES = 256_000


@dataclass(frozen=True, slots=True)
class Logout:
    """Whom the provider signs out, since when, and the request that the response names."""

    request_id: str
    subject: str
    issued_at: datetime.datetime


def read_logout(text: str, provider: IdentityProvider, sp: ServiceProvider, *, query: str | None) -> Logout:
    """Return whom a provider signs out.

    Args:
        text: The request in base64.
        provider: The provider to whose address it was sent.
        sp: Who receives it.
        query: The query of the address, which is signed; None if the message is from a form and signed itself.

    Raises:
        ProviderFailed: If the request is not valid.
    """
    if query is None:
        message = signatures.read_signed(xml.parse(decode(text)), read_certificates(provider))
    else:
        signatures.verify_query(query, "SAMLRequest", read_certificates(provider))
        message = xml.parse(_inflate(decode(text)))
    if message.tag != xml.name("samlp:LogoutRequest") or message.get("Destination") != sp.sign_out_url:
        raise InvalidAssertion(gettext_noop("This is no request to sign somebody out here."))
    check_issuer(message, provider)
    issued_at, until = xml.read_time(message, "IssueInstant"), xml.read_time(message, "NotOnOrAfter")
    now = timezone.now()
    is_recent = issued_at is not None and now - _MAX_AGE <= issued_at <= now + LEEWAY
    if issued_at is None or not is_recent or (until is not None and until + LEEWAY <= now):
        raise InvalidAssertion(gettext_noop("The request to sign somebody out is too old."))
    subject = xml.read_text(xml.find_only(message, "saml:NameID"))
    return Logout(message.get("ID", "")[:MAX_SUBJECT_CHARACTERS], subject, issued_at)


def _inflate(content: bytes) -> bytes:
    decompressor = zlib.decompressobj(wbits=-15)
    try:
        inflated = decompressor.decompress(content, _MAX_BYTES)
    except zlib.error:
        raise InvalidAssertion(gettext_noop("The message is malformed.")) from None
    if decompressor.unconsumed_tail:
        raise InvalidAssertion(gettext_noop("The message is too large."))
    return inflated
