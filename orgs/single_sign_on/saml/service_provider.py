"""This installation as a service provider of one identity provider: its addresses, its key, and its metadata."""

import datetime
import json
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_noop
from lxml import etree

from orgs.models import IdentityProvider
from orgs.single_sign_on.provider_requests import IdentityProviderFailed
from ragsite.http.addresses import build_public_url
from ragsite.postgres import encryption

from . import xml

POST_BINDING = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
REDIRECT_BINDING = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
_KEY_BITS = 2_048
# Providers pin the certificate. Its end would end the sign-in, and a key is replaced with a new provider.
_VALIDITY = datetime.timedelta(days=20 * 365)


@dataclass(frozen=True, slots=True)
class ServiceProvider:
    """What an identity provider knows of this installation.

    Attributes:
        entity_id: Its name, the address of its metadata.
        consumer_url: Where it receives responses about people.
        sign_out_url: Where it receives requests to sign people out, and their responses.
    """

    entity_id: str
    consumer_url: str
    sign_out_url: str


def addresses(request: HttpRequest, provider: IdentityProvider) -> ServiceProvider:
    """Return the addresses that this identity provider, and no other one, has to know."""
    paths = (reverse(f"saml_{name}", args=[provider.pk]) for name in ("metadata", "consumer", "sign_out"))
    return ServiceProvider(*(build_public_url(request, path) for path in paths))


def create_key() -> str:
    """Return a new key with its certificate, encrypted for the provider's row."""
    key = rsa.generate_private_key(65_537, _KEY_BITS)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ragsite")])
    now = timezone.now()
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + _VALIDITY)
    encoding, format_ = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    pair = {
        "key": key.private_bytes(encoding, format_, serialization.NoEncryption()).decode(),
        "certificate": builder.sign(key, hashes.SHA256()).public_bytes(encoding).decode(),
    }
    return encryption.encrypt(json.dumps(pair), encryption.Purpose.IDENTITY_PROVIDER)


def read_key(provider: IdentityProvider) -> tuple[str, str]:
    """Return the key and its certificate in PEM.

    Raises:
        IdentityProviderFailed: If it cannot be decrypted.
    """
    try:
        pair = json.loads(encryption.decrypt(provider.client_secret, encryption.Purpose.IDENTITY_PROVIDER))
    except encryption.UnreadableSecret:
        text = gettext_noop("The metadata has to be entered again, because SECRET_KEY has changed.")
        raise IdentityProviderFailed(text) from None
    return pair["key"], pair["certificate"]


def has_key(provider: IdentityProvider) -> bool:
    """Return whether the provider has a key that can be read."""
    try:
        return bool(read_key(provider))
    except IdentityProviderFailed:
        return False


def build_metadata(sp: ServiceProvider, certificate: str) -> bytes:
    """Return the document that an identity provider reads to know this installation (SAML Metadata)."""
    root = etree.Element(xml.name("md:EntityDescriptor"), entityID=sp.entity_id, nsmap=xml.NAMESPACES)
    role = etree.SubElement(
        root,
        xml.name("md:SPSSODescriptor"),
        AuthnRequestsSigned="true",
        WantAssertionsSigned="true",
        protocolSupportEnumeration=xml.NAMESPACES["samlp"],
    )
    key = etree.SubElement(role, xml.name("md:KeyDescriptor"), use="signing")
    data = etree.SubElement(etree.SubElement(key, xml.name("ds:KeyInfo")), xml.name("ds:X509Data"))
    lines = [line for line in certificate.splitlines() if not line.startswith("-----")]
    etree.SubElement(data, xml.name("ds:X509Certificate")).text = "".join(lines)
    for binding in (REDIRECT_BINDING, POST_BINDING):
        etree.SubElement(role, xml.name("md:SingleLogoutService"), Binding=binding, Location=sp.sign_out_url)
    etree.SubElement(
        role,
        xml.name("md:AssertionConsumerService"),
        Binding=POST_BINDING,
        Location=sp.consumer_url,
        index="0",
        isDefault="true",
    )
    return bytes(etree.tostring(root, xml_declaration=True, encoding="utf-8"))
