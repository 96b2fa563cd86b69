"""Responses that prove nothing: unsigned, wrapped, forged, for others, too old, with document types."""

import base64
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from orgs.models import IdentityProvider, LinkedIdentity
from orgs.single_sign_on.provider_requests import IdentityProviderFailed
from orgs.single_sign_on.saml import xml
from orgs.single_sign_on.saml.metadata import read_metadata
from tests.orgs.single_sign_on.saml.conftest import EMAIL, begin, send, sign_in
from tests.support.factories import World
from tests.support.servers.saml_provider import SamlProvider, time

VICTIM = "owner@home.example"
_ASSERTION = re.compile(r"<saml:Assertion .*</saml:Assertion>", re.DOTALL)
_SIGNATURE = re.compile(r"<ds:Signature.*?</ds:Signature>", re.DOTALL)


def _assertion(response: str) -> str:
    match = _ASSERTION.search(response)
    assert match
    return match[0]


def _forged(response: str) -> str:
    """The assertion about the victim, with another ID and without a signature."""
    forged = _SIGNATURE.sub("", _assertion(response)).replace(EMAIL, VICTIM).replace(">u-1<", ">u-2<")
    return re.sub(r' ID="[^"]+"', ' ID="_forged"', forged, count=1)


def _signature(response: str) -> str:
    match = _SIGNATURE.search(response)
    assert match
    return match[0]


def _insert_into_signature(response: str) -> str:
    signed = _assertion(response)
    signature = _signature(response).replace("</ds:Signature>", f"<ds:Object>{signed}</ds:Object></ds:Signature>")
    forged = _forged(response).replace("</saml:Issuer>", f"</saml:Issuer>{signature}", 1)
    return response.replace(signed, forged)


# XSW 1 to 8: On Breaking SAML (USENIX Security 2012), and what else changes what is read or who has signed it.
ATTACKS: dict[str, Callable[[str], str]] = {
    "unsigned": lambda response: _SIGNATURE.sub("", response),
    "changed": lambda response: response.replace(EMAIL, VICTIM),
    "a forged assertion before the signed one": lambda response: response.replace(
        _assertion(response), _forged(response) + _assertion(response)
    ),
    "a forged assertion after the signed one": lambda response: response.replace(
        _assertion(response), _assertion(response) + _forged(response)
    ),
    "the signed one within the forged one": lambda response: response.replace(
        _assertion(response), _forged(response).replace("</saml:Assertion>", f"{_assertion(response)}</saml:Assertion>")
    ),
    "the signed one in the signature of the forged one": _insert_into_signature,
    "the signed one in extensions": lambda response: response.replace(
        _assertion(response), f"<samlp:Extensions>{_assertion(response)}</samlp:Extensions>{_forged(response)}"
    ),
    "the signature on the response": lambda response: response.replace(
        _assertion(response),
        f"{_signature(response)}{_forged(response)}<samlp:Extensions>{_assertion(response)}</samlp:Extensions>",
    ),
    "the same ID twice": lambda response: response.replace(
        _assertion(response),
        re.sub(r'ID="_forged"', re.findall(r'Assertion [^>]*?( ID="[^"]+")', response)[0].strip(), _forged(response))
        + _assertion(response),
    ),
    "a key in the message": lambda response: SamlProvider().sign(_forged_root(response)),
    "a document type": lambda response: f'<!DOCTYPE r [<!ENTITY e "{VICTIM}">]>' + response,
    "an external entity": lambda response: (
        '<!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/passwd">]>' + response.replace(EMAIL, "&e;")
    ),
    "many entities": lambda response: (
        f'<!DOCTYPE r [<!ENTITY a "{"x" * 50}">'
        + "".join(f'<!ENTITY {b} "{f"&{a};" * 50}">' for a, b in zip("abcdef", "bcdefg", strict=True))
        + "]>"
        + response.replace(EMAIL, "&g;")
    ),
    "no XML": lambda response: "x",
    "another message": lambda response: "<a/>",
    "SHA-1": lambda response: response.replace("2001/04/xmldsig-more#rsa-sha256", "2000/09/xmldsig#rsa-sha1"),
    "a shared secret": lambda response: response.replace("xmldsig-more#rsa-sha256", "xmldsig-more#hmac-sha256"),
    "an empty signature": lambda response: re.sub(
        r"(<ds:SignatureValue>).*?(</ds:SignatureValue>)", r"\1\2", response, flags=re.DOTALL
    ),
    "encrypted": lambda response: response.replace(_assertion(response), "<saml:EncryptedAssertion/>"),
    "no assertion": lambda response: response.replace(_assertion(response), ""),
}


def _forged_root(response: str) -> str:
    return response.replace(_assertion(response), _forged(response))


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_what_is_not_signed_is_not_believed(
    provider: IdentityProvider, idp: SamlProvider, attack: Callable[[str], str]
) -> None:
    browser = Client()
    refused = sign_in(browser, provider, idp, change=attack)
    assert refused.status_code == 502, refused.content
    assert (browser.get("/").status_code, LinkedIdentity.objects.exists()) == (302, False)


def test_a_comment_does_not_cut_an_address_in_two(provider: IdentityProvider, idp: SamlProvider) -> None:
    """Canonical XML has no comments: one can be added without breaking the signature."""
    idp.person["attributes"]["email"] = [f"{VICTIM}.abroad.example"]
    browser = Client()
    refused = sign_in(browser, provider, idp, change=lambda response: response.replace(VICTIM, f"{VICTIM}<!-- -->"))
    assert (refused.status_code, b"abroad.example is not a verified domain" in refused.content) == (403, True)


WRONG: dict[str, dict[str, Any]] = {
    "another audience": {"audience": "https://other.example"},
    "another recipient": {"recipient": "https://other.example"},
    "another destination": {"destination": "https://other.example"},
    "another request": {"in_response_to": "_other"},
    "another issuer": {"issuer": "https://other.example"},
    "too old": {"until": time(-61)},
    "confirmed too long ago": {"confirmed_until": time(-61)},
    "too early": {"not_before": time(86_400)},
    "no time": {"until": "soon"},
    "not successful": {"status": "urn:oasis:names:tc:SAML:2.0:status:Responder"},
    "a transient name": {"format": "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"},
}


@pytest.mark.parametrize("values", WRONG.values(), ids=WRONG)
def test_what_is_signed_for_others_is_refused(
    provider: IdentityProvider, idp: SamlProvider, values: dict[str, str]
) -> None:
    idp.values = values
    browser = Client()
    assert sign_in(browser, provider, idp).status_code == 502
    assert (browser.get("/").status_code, User.objects.filter(email=EMAIL).exists()) == (302, False)


def test_a_response_belongs_to_the_sign_in_of_its_browser(provider: IdentityProvider, idp: SamlProvider) -> None:
    browser, other = Client(), Client()
    response = idp.response(begin(browser, provider, idp))
    begin(other, provider, idp)
    assert send(other, provider, response).status_code == 502
    assert (other.get("/").status_code, send(browser, provider, response).status_code) == (302, 302)


@pytest.mark.parametrize("address", ["foreigner@abroad.example", "root@home.example", "gone@home.example", "x"])
def test_nobody_takes_over_an_account(
    provider: IdentityProvider, idp: SamlProvider, world: World, address: str
) -> None:
    User.objects.create_superuser("root@home.example", "a long password")
    User.objects.create_user("gone@home.example", is_active=False)
    idp.person["attributes"]["email"] = [address]
    assert sign_in(Client(), provider, idp).status_code == 403
    assert not LinkedIdentity.objects.exists()


def test_a_provider_of_the_other_protocol_is_not_asked(provider: IdentityProvider, idp: SamlProvider) -> None:
    for path in ("metadata", "logout?SAMLRequest=x", "sign-out"):
        assert Client().get(f"/sign-in/saml/{provider.organization_id}/{path}").status_code == 404
    browser = Client()
    response = idp.response(begin(browser, provider, idp))
    IdentityProvider.objects.update(protocol="openid")
    assert send(browser, provider, response).status_code == 404


@pytest.mark.parametrize("length", [0, 1, 7, 100, 70_000])
def test_no_bytes_are_an_error_of_the_server(provider: IdentityProvider, idp: SamlProvider, length: int) -> None:
    browser = Client()
    right = base64.b64decode(idp.response(begin(browser, provider, idp))) * 20
    text = base64.b64encode(right[:length]).decode()
    assert send(browser, provider, text).status_code == 502


METADATA: dict[str, dict[str, str]] = {
    "a script": {"sign_in_url": "javascript:alert(1)"},
    "no HTTPS": {"sign_in_url": "http://idp.example/"},
    "a script for sign-outs": {"sign_out_response_url": "javascript:alert(1)"},
    "no HTTPS for sign-outs": {"sign_out_response_url": "http://127.0.0.1/"},
    "a long address for sign-outs": {"sign_out_response_url": f"https://idp.example/{'a' * 500}"},
    "no certificate": {"certificate": ""},
    "a malformed certificate": {"certificate": "AAAA"},
    "no issuer": {"issuer": ""},
}


@pytest.mark.parametrize("changes", METADATA.values(), ids=METADATA)
def test_metadata_that_nobody_could_sign_in_with_is_refused(idp: SamlProvider, changes: dict[str, str]) -> None:
    with pytest.raises(IdentityProviderFailed):
        read_metadata(idp.metadata(**changes))


def test_metadata_of_several_providers_or_of_none_is_refused(idp: SamlProvider) -> None:
    one = idp.metadata().replace('<?xml version="1.0"?>', "")
    both = f'<md:EntitiesDescriptor xmlns:md="{xml.NAMESPACES["md"]}">{one}{one}</md:EntitiesDescriptor>'
    for text in (both, one.replace("IDPSSODescriptor", "SPSSODescriptor"), "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"):
        with pytest.raises(IdentityProviderFailed):
            read_metadata(text)
    single = both.replace(one + one, one)
    assert read_metadata(single).issuer == idp.issuer


def test_metadata_with_a_form_only_is_refused_and_the_missing_binding_named(idp: SamlProvider) -> None:
    service = '<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-'
    with pytest.raises(IdentityProviderFailed, match="no SingleSignOnService with the binding HTTP-Redirect"):
        read_metadata(idp.metadata().replace(f"{service}Redirect", f"{service}Artifact"))
