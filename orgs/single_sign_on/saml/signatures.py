"""Signatures of SAML messages: within the XML, or over the query of an address (SAML Bindings, 3.4.4.1)."""

import base64
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote_plus, urlencode

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from django.utils import timezone
from django.utils.translation import gettext_noop
from lxml import etree
from signxml.algorithms import DigestAlgorithm, SignatureMethod
from signxml.exceptions import InvalidDigest, SignXMLException
from signxml.verifier import SignatureConfiguration, XMLVerifier

from orgs.single_sign_on.provider_requests import IdentityProviderFailed

from . import xml

_MORE = "http://www.w3.org/2001/04/xmldsig-more#"
# SAML Core, 5.4.3. Others take minutes for hostile XML: of anybody, before anything is checked, and of a provider.
_EXCLUSIVE_CANONICALIZATION = "http://www.w3.org/2001/10/xml-exc-c14n#"
# SAML Core, 5.4.4. Without the second one, the library would use another canonicalization.
_ENVELOPED = "http://www.w3.org/2000/09/xmldsig#enveloped-signature"
_TRANSFORMS = [
    [_ENVELOPED, _EXCLUSIVE_CANONICALIZATION],
    [_ENVELOPED, f"{_EXCLUSIVE_CANONICALIZATION}WithComments"],
]
# Of the prefixes that are treated as by other canonicalizations: those of SAML and of the types of its values.
_MAX_PREFIXES_CHARACTERS = 100
_RSA_SHA256 = f"{_MORE}rsa-sha256"
_HASHES = {"sha256": hashes.SHA256(), "sha384": hashes.SHA384(), "sha512": hashes.SHA512()}
_METHODS = {f"{_MORE}{kind}-{name}": (kind, hash_) for kind in ("rsa", "ecdsa") for name, hash_ in _HASHES.items()}
# Only a signature that is a child of what it signs, with a key pair and without SHA-1.
_CONFIGURATION = SignatureConfiguration(
    location="./",
    signature_methods=frozenset(SignatureMethod(uri) for uri in _METHODS),
    digest_algorithms=frozenset({DigestAlgorithm.SHA256, DigestAlgorithm.SHA384, DigestAlgorithm.SHA512}),
)
# What hostile XML makes the libraries raise, besides their own errors.
_ERRORS = (
    *(SignXMLException, etree.LxmlError, InvalidSignature, UnsupportedAlgorithm),
    *(ValueError, TypeError, KeyError, AttributeError, AssertionError),
)


class InvalidSignatureOfProvider(IdentityProviderFailed):
    """Nothing proves that the provider sent the message."""

    def __init__(self) -> None:
        super().__init__(gettext_noop("The signature of the identity provider is missing or not valid."))


def load_certificates(pem: str) -> list[x509.Certificate]:
    """Read certificates.

    Raises:
        ValueError: If one is malformed.
    """
    return x509.load_pem_x509_certificates(pem.encode()) if pem else []


def read_signed(element: xml.Element, certificates: Sequence[x509.Certificate]) -> xml.Element:
    """Return the element as the provider has signed it.

    The element is checked alone, so that its signature cannot be one of another element (signature wrapping), and only
    what was signed is returned.

    Raises:
        InvalidSignatureOfProvider: If the element itself is not signed with a key of the certificates.
    """
    _check_algorithms(element)
    content = etree.tostring(element, with_tail=False)
    for certificate in certificates:
        try:
            result: Any = XMLVerifier().verify(
                content, x509_cert=certificate, id_attribute="ID", parser=xml.parser(), expect_config=_CONFIGURATION
            )
        except InvalidDigest:  # the key has signed another content, whatever the other keys are
            break
        except _ERRORS:
            continue
        signed = result.signed_xml
        if signed is not None and (signed.tag, signed.get("ID")) == (element.tag, element.get("ID")):
            return signed
    raise InvalidSignatureOfProvider


def _check_algorithms(element: xml.Element) -> None:
    """Raise InvalidSignatureOfProvider if the element has several signatures, or one that could be expensive."""
    methods, transforms = (
        [part.get("Algorithm") for part in element.findall(f"ds:Signature/ds:SignedInfo/{path}", xml.NAMESPACES)]
        for path in ("ds:CanonicalizationMethod", "ds:Reference/ds:Transforms/ds:Transform")
    )
    prefixes = [
        part.get("PrefixList", "")
        for part in element.iterfind(
            f"ds:Signature//{{{_EXCLUSIVE_CANONICALIZATION}}}InclusiveNamespaces", xml.NAMESPACES
        )
    ]
    is_cheap = methods == [_EXCLUSIVE_CANONICALIZATION] and transforms in _TRANSFORMS
    if not is_cheap or any(len(names) > _MAX_PREFIXES_CHARACTERS for names in prefixes):
        raise InvalidSignatureOfProvider


def read_signed_query(query: str, message: str, certificates: Sequence[x509.Certificate]) -> dict[str, str]:
    """Return the parameters of an address that the provider has signed, and no others.

    Args:
        query: The query as it was received: each side may encode it in its own way.
        message: The name of the parameter with the message.
        certificates: Those of the provider.

    Raises:
        InvalidSignatureOfProvider: If it is missing or not valid.
    """
    pairs = [part.partition("=") for part in query.split("&")]
    values = {name: value for name, _, value in pairs}
    # A name in another spelling, such as SAML%52equest, would be another message for those who decode it.
    if (
        len({unquote_plus(name) for name in values}) != len(pairs)
        or not {message, "SigAlg", "Signature"} <= values.keys()
    ):
        raise InvalidSignatureOfProvider
    signed = {name: values[name] for name in (message, "RelayState", "SigAlg") if name in values}
    content = "&".join(f"{name}={value}" for name, value in signed.items())
    now = timezone.now()
    for certificate in certificates:
        if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
            continue
        try:
            signature = base64.b64decode(unquote_plus(values["Signature"]), validate=True)
            _verify(certificate.public_key(), signature, content.encode(), unquote_plus(values["SigAlg"]))
        except _ERRORS:
            continue
        return {name: unquote_plus(value) for name, value in signed.items()}
    raise InvalidSignatureOfProvider


def sign_query(parameters: dict[str, str], key_pem: str) -> str:
    """Return the query with these parameters and a signature over them."""
    # The key was checked when it was made. To check it again takes as long as a hundred signatures.
    key = serialization.load_pem_private_key(key_pem.encode(), None, unsafe_skip_rsa_key_validation=True)
    assert isinstance(key, rsa.RSAPrivateKey)
    query = urlencode({**parameters, "SigAlg": _RSA_SHA256})
    signature = key.sign(query.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{query}&{urlencode({'Signature': base64.b64encode(signature).decode()})}"


def _verify(key: object, signature: bytes, content: bytes, method: str) -> None:
    kind, hash_ = _METHODS[method]
    if kind == "rsa" and isinstance(key, rsa.RSAPublicKey):
        key.verify(signature, content, padding.PKCS1v15(), hash_)
    elif kind == "ecdsa" and isinstance(key, ec.EllipticCurvePublicKey):
        key.verify(signature, content, ec.ECDSA(hash_))
    else:
        raise InvalidSignature
